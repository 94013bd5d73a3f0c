import roma

v = torch.tensor([[0.3, -0.5, 0.8], [1.0, 0.2, -0.1]], dtype=torch.float64, requires_grad=True)
R = roma.rotvec_to_rotmat(v)
q = roma.rotvec_to_unitquat(v)
show(
    R,
    q,
    roma.rotmat_to_rotvec(R),
    roma.unitquat_to_rotmat(q),
    roma.rotmat_to_unitquat(R),
    roma.special_procrustes(R * 1.3 + 0.1),
    roma.unitquat_slerp(q[0], q[1], torch.tensor([0.2, 0.7], dtype=torch.float64)),
)
show(
    *torch.autograd.grad(roma.special_procrustes(R * 1.3 + 0.1).pow(3).sum() + roma.rotmat_to_rotvec(R @ R).sum(), v),
    roma.rigid_vectors_registration(v, v.flip(0))[0]
    if isinstance(roma.rigid_vectors_registration(v, v.flip(0)), tuple)
    else roma.rigid_vectors_registration(v, v.flip(0)),
)
