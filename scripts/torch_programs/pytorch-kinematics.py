import pytorch_kinematics as pk

JOINT = """<joint name='{}' type='revolute'><parent link='{}'/><child link='{}'/>
<origin xyz='{}' rpy='{}'/><axis xyz='{}'/><limit lower='-3' upper='3' effort='1' velocity='1'/></joint>"""
links = "".join(f"<link name='l{i}'/>" for i in range(3))
joints = JOINT.format("j0", "l0", "l1", "0 0 0.5", "0.1 0 0", "0 0 1")
joints += JOINT.format("j1", "l1", "l2", "0.4 0 0.2", "0 0.3 0", "0 1 0")
urdf = f"<robot name='a'>{links}{joints}</robot>"
c = pk.build_serial_chain_from_urdf(urdf, "l2").to(dtype=torch.float64)
th = torch.tensor([[0.3, -0.5], [0.8, 0.2]], dtype=torch.float64, requires_grad=True)
m = c.forward_kinematics(th).get_matrix()
show(m, *torch.autograd.grad(m[:, :3, 3].pow(2).sum(), th), c.jacobian(th.detach()))
