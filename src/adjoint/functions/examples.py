"""Doctests for the help of operations whose declarations have none, by the operation's name.

>>> import adjoint

neg
    >>> adjoint.neg(adjoint.tensor([1.0, -2.0]))
    tensor([-1.,  2.])

mul
    >>> adjoint.mul(adjoint.tensor([1.0, 2.0]), adjoint.tensor([[3.0], [4.0]]))
    tensor([[3., 6.],
            [4., 8.]])

square
    >>> adjoint.square(adjoint.tensor([1.0, -3.0]))
    tensor([1., 9.])

reciprocal
    >>> adjoint.reciprocal(adjoint.tensor([2.0, -4.0]))
    tensor([ 0.5000, -0.2500])

add
    >>> adjoint.add(adjoint.tensor([1.0, 2.0]), adjoint.tensor([[3.0], [4.0]]), alpha=2)
    tensor([[ 7.,  8.],
            [ 9., 10.]])

sub
    >>> adjoint.sub(adjoint.tensor([5.0, 7.0]), 2)
    tensor([3., 5.])

rsub
    >>> adjoint.rsub(adjoint.tensor([5.0, 7.0]), 2)
    tensor([-3., -5.])

true_divide
    >>> adjoint.true_divide(adjoint.tensor([1, 2]), 4)
    tensor([0.2500, 0.5000])

floor_divide
    >>> adjoint.floor_divide(adjoint.tensor([7.0, -7.0]), 2)
    tensor([ 3., -4.])

remainder
    >>> adjoint.remainder(adjoint.tensor([7.0, -7.0]), 3)
    tensor([1., 2.])

fmod
    >>> adjoint.fmod(adjoint.tensor([7.0, -7.0]), 3)
    tensor([ 1., -1.])

pow
    >>> adjoint.pow(adjoint.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])

exp
    >>> adjoint.exp(adjoint.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])

exp2
    >>> adjoint.exp2(adjoint.tensor([0.0, 3.0]))
    tensor([1., 8.])

expm1
    >>> adjoint.expm1(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])

log
    >>> adjoint.log(adjoint.tensor([1.0, 2.0]))
    tensor([0.0000, 0.6931])

log2
    >>> adjoint.log2(adjoint.tensor([1.0, 8.0]))
    tensor([0., 3.])

log10
    >>> adjoint.log10(adjoint.tensor([1.0, 50.0]))
    tensor([0.0000, 1.6990])

log1p
    >>> adjoint.log1p(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 0.6931])

sqrt
    >>> adjoint.sqrt(adjoint.tensor([4.0, 9.0]))
    tensor([2., 3.])

rsqrt
    >>> adjoint.rsqrt(adjoint.tensor([4.0, 16.0]))
    tensor([0.5000, 0.2500])

logaddexp
    >>> adjoint.logaddexp(adjoint.tensor([0.0, 1000.0]), adjoint.tensor([0.0, 1000.0]))
    tensor([6.9315e-01, 1.0007e+03])

sin
    >>> adjoint.sin(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])

cos
    >>> adjoint.cos(adjoint.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])

tan
    >>> adjoint.tan(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])

asin
    >>> adjoint.asin(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])

acos
    >>> adjoint.acos(adjoint.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])

atan
    >>> adjoint.atan(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])

sinh
    >>> adjoint.sinh(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])

cosh
    >>> adjoint.cosh(adjoint.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])

tanh
    >>> adjoint.tanh(adjoint.tensor([-1.0, 0.0, 0.5]))
    tensor([-0.7616,  0.0000,  0.4621])

asinh
    >>> adjoint.asinh(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])

acosh
    >>> adjoint.acosh(adjoint.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])

atanh
    >>> adjoint.atanh(adjoint.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])

atan2
    >>> adjoint.atan2(adjoint.tensor([1.0, -1.0]), adjoint.tensor([1.0, -1.0]))
    tensor([ 0.7854, -2.3562])

hypot
    >>> adjoint.hypot(adjoint.tensor([3.0, 5.0]), adjoint.tensor([4.0, 12.0]))
    tensor([ 5., 13.])

sigmoid
    >>> adjoint.sigmoid(adjoint.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])

relu
    >>> adjoint.relu(adjoint.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])

sign
    >>> adjoint.sign(adjoint.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])

floor
    >>> adjoint.floor(adjoint.tensor([-1.5, 1.5]))
    tensor([-2.,  1.])

ceil
    >>> adjoint.ceil(adjoint.tensor([-1.5, 1.5]))
    tensor([-1.,  2.])

trunc
    >>> adjoint.trunc(adjoint.tensor([-1.5, 1.5]))
    tensor([-1.,  1.])

round
    >>> adjoint.round(adjoint.tensor([0.5, 1.5, 2.345]), decimals=1)
    tensor([0.5000, 1.5000, 2.3000])

maximum
    >>> adjoint.maximum(adjoint.tensor([1.0, 5.0]), adjoint.tensor([3.0, 2.0]))
    tensor([3., 5.])

minimum
    >>> adjoint.minimum(adjoint.tensor([1.0, 5.0]), adjoint.tensor([3.0, 2.0]))
    tensor([1., 2.])

clamp
    >>> adjoint.clamp(adjoint.tensor([-2.0, 0.5, 9.0]), 0.0, 1.0)
    tensor([0.0000, 0.5000, 1.0000])

clamp_min
    >>> adjoint.clamp_min(adjoint.tensor([-2.0, 0.5]), 0.0)
    tensor([0.0000, 0.5000])

clamp_max
    >>> adjoint.clamp_max(adjoint.tensor([0.5, 9.0]), 1.0)
    tensor([0.5000, 1.0000])

where
    >>> adjoint.where(adjoint.tensor([True, False]), adjoint.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])

abs
    >>> adjoint.abs(adjoint.tensor([-3.0, 4.0]))
    tensor([3., 4.])

sgn
    >>> adjoint.sgn(adjoint.tensor([3 + 4j, 0j]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])

angle
    >>> adjoint.angle(adjoint.tensor([1j, -1 + 0j]))
    tensor([1.5708, 3.1416])

imag
    >>> adjoint.imag(adjoint.tensor([1 + 2j, 3 - 4j]))
    tensor([ 2., -4.])

complex
    >>> adjoint.complex(adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, -4.0]))
    tensor([1.+3.j, 2.-4.j])

eq
    >>> adjoint.eq(adjoint.tensor([1, 2]), adjoint.tensor([1, 3]))
    tensor([ True, False])

ne
    >>> adjoint.ne(adjoint.tensor([1, 2]), adjoint.tensor([1, 3]))
    tensor([False,  True])

lt
    >>> adjoint.lt(adjoint.tensor([1, 2]), 2)
    tensor([ True, False])

le
    >>> adjoint.le(adjoint.tensor([1, 2]), 1)
    tensor([ True, False])

gt
    >>> adjoint.gt(adjoint.tensor([1, 2]), 1)
    tensor([False,  True])

ge
    >>> adjoint.ge(adjoint.tensor([1, 2]), 2)
    tensor([False,  True])

logical_and
    >>> adjoint.logical_and(adjoint.tensor([1, 2, 0]), adjoint.tensor([1, 0, 0]))
    tensor([ True, False, False])

logical_or
    >>> adjoint.logical_or(adjoint.tensor([1, 2, 0]), adjoint.tensor([1, 0, 0]))
    tensor([ True,  True, False])

logical_xor
    >>> adjoint.logical_xor(adjoint.tensor([1, 2, 0]), adjoint.tensor([1, 0, 0]))
    tensor([False,  True, False])

logical_not
    >>> adjoint.logical_not(adjoint.tensor([1.5, 0.0]))
    tensor([False,  True])

bitwise_and
    >>> adjoint.bitwise_and(adjoint.tensor([6, 5]), 3)
    tensor([2, 1])

bitwise_or
    >>> adjoint.bitwise_or(adjoint.tensor([6, 5]), 3)
    tensor([7, 7])

bitwise_xor
    >>> adjoint.bitwise_xor(adjoint.tensor([6, 5]), 3)
    tensor([5, 6])

bitwise_not
    >>> adjoint.bitwise_not(adjoint.tensor([0, 5]))
    tensor([-1, -6])

isnan
    >>> adjoint.isnan(adjoint.tensor([1.0, adjoint.nan]))
    tensor([False,  True])

isinf
    >>> adjoint.isinf(adjoint.tensor([1.0, -adjoint.inf]))
    tensor([False,  True])

isfinite
    >>> adjoint.isfinite(adjoint.tensor([1.0, adjoint.inf, adjoint.nan]))
    tensor([ True, False, False])

fill
    >>> adjoint.fill(adjoint.tensor([1.0, 2.0]), 7.0)
    tensor([7., 7.])

amax
    >>> adjoint.amax(adjoint.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
    tensor([5., 7.])

amin
    >>> adjoint.amin(adjoint.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
    tensor([1., 2.])

logsumexp
    >>> adjoint.logsumexp(adjoint.tensor([1000.0, 1000.0]), dim=0)
    tensor(1000.6932)

any
    >>> adjoint.any(adjoint.tensor([[0, 0], [0, 3]]), dim=1)
    tensor([False,  True])

all
    >>> adjoint.all(adjoint.tensor([[1, 2], [0, 3]]), dim=1)
    tensor([ True, False])

count_nonzero
    >>> adjoint.count_nonzero(adjoint.tensor([[0, 1], [2, 3]]), dim=1)
    tensor([1, 2])

argmax
    >>> adjoint.argmax(adjoint.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
    tensor([1, 0])

argmin
    >>> adjoint.argmin(adjoint.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
    tensor([0, 1])

softplus
    >>> adjoint.nn.functional.softplus(adjoint.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])

erf
    >>> adjoint.erf(adjoint.tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.5205, 0.8427])

erfc
    >>> adjoint.erfc(adjoint.tensor([0.0, 0.5, 1.0]))
    tensor([1.0000, 0.4795, 0.1573])

erfinv
    >>> adjoint.erfinv(adjoint.tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.4769,    inf])

special_erfcx
    >>> adjoint.special.erfcx(adjoint.tensor([0.0, 10.0]))
    tensor([1.0000, 0.0561])

special_ndtr
    >>> adjoint.special.ndtr(adjoint.tensor([-1.0, 0.0, 1.0]))
    tensor([0.1587, 0.5000, 0.8413])

special_log_ndtr
    >>> adjoint.special.log_ndtr(adjoint.tensor([-10.0, 0.0]))
    tensor([-53.2313,  -0.6931])

special_ndtri
    >>> adjoint.special.ndtri(adjoint.tensor([0.025, 0.5]))
    tensor([-1.9600,  0.0000])

special_entr
    >>> adjoint.special.entr(adjoint.tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.3466, -0.0000])

logit
    >>> adjoint.logit(adjoint.tensor([0.1, 0.5]))
    tensor([-2.1972,  0.0000])

xlogy
    >>> adjoint.xlogy(adjoint.tensor([0.0, 2.0]), adjoint.tensor([0.0, 3.0]))
    tensor([0.0000, 2.1972])

special_xlog1py
    >>> adjoint.special.xlog1py(adjoint.tensor([0.0, 2.0]), adjoint.tensor([-1.0, 3.0]))
    tensor([0.0000, 2.7726])

polygamma
    >>> adjoint.tensor([1.0, 2.0]).polygamma(1)
    tensor([1.6449, 0.6449])

digamma
    >>> adjoint.digamma(adjoint.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])

lgamma
    >>> adjoint.lgamma(adjoint.tensor([1.0, 5.0]))
    tensor([0.0000, 3.1781])

mvlgamma
    >>> adjoint.mvlgamma(adjoint.tensor([2.0, 5.0]), p=2)
    tensor([0.4516, 6.2042])

igamma
    >>> adjoint.igamma(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 1.0]))
    tensor([0.6321, 0.2642])

igammac
    >>> adjoint.igammac(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 1.0]))
    tensor([0.3679, 0.7358])

special_zeta
    >>> adjoint.special.zeta(adjoint.tensor([2.0, 4.0]), 1.0)
    tensor([1.6449, 1.0823])

i0
    >>> adjoint.i0(adjoint.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])

special_i1
    >>> adjoint.special.i1(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])

special_i0e
    >>> adjoint.special.i0e(adjoint.tensor([0.0, 100.0]))
    tensor([1.0000, 0.0399])

special_i1e
    >>> adjoint.special.i1e(adjoint.tensor([0.0, 100.0]))
    tensor([0.0000, 0.0397])

special_bessel_j0
    >>> adjoint.special.bessel_j0(adjoint.tensor([0.0, 1.0]))
    tensor([1.0000, 0.7652])

special_bessel_j1
    >>> adjoint.special.bessel_j1(adjoint.tensor([0.0, 1.0]))
    tensor([0.0000, 0.4401])

special_bessel_y0
    >>> adjoint.special.bessel_y0(adjoint.tensor([1.0, 2.0]))
    tensor([0.0883, 0.5104])

special_bessel_y1
    >>> adjoint.special.bessel_y1(adjoint.tensor([1.0, 2.0]))
    tensor([-0.7812, -0.1070])

special_modified_bessel_k0
    >>> adjoint.special.modified_bessel_k0(adjoint.tensor([1.0, 2.0]))
    tensor([0.4210, 0.1139])

special_modified_bessel_k1
    >>> adjoint.special.modified_bessel_k1(adjoint.tensor([1.0, 2.0]))
    tensor([0.6019, 0.1399])

special_scaled_modified_bessel_k0
    >>> adjoint.special.scaled_modified_bessel_k0(adjoint.tensor([1.0, 100.0]))
    tensor([1.1445, 0.1252])

special_scaled_modified_bessel_k1
    >>> adjoint.special.scaled_modified_bessel_k1(adjoint.tensor([1.0, 100.0]))
    tensor([1.6362, 0.1258])

sinc
    >>> adjoint.sinc(adjoint.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])

matmul
    >>> adjoint.matmul(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), adjoint.tensor([1.0, 1.0]))
    tensor([3., 7.])

mm
    >>> adjoint.mm(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), adjoint.tensor([[1.0], [1.0]]))
    tensor([[3.],
            [7.]])

bmm
    >>> adjoint.bmm(adjoint.ones(2, 1, 3), adjoint.ones(2, 3, 1)).shape
    adjoint.Size([2, 1, 1])

mv
    >>> adjoint.mv(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), adjoint.tensor([1.0, 1.0]))
    tensor([3., 7.])

dot
    >>> adjoint.dot(adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 4.0]))
    tensor(11.)

vdot
    >>> adjoint.vdot(adjoint.tensor([1j, 2.0]), adjoint.tensor([1j, 4.0]))
    tensor(9.+0.j)

addmm
    >>> adjoint.addmm(adjoint.ones(1, 2), adjoint.tensor([[1.0, 2.0]]), adjoint.eye(2), beta=10)
    tensor([[11., 12.]])

baddbmm
    >>> adjoint.baddbmm(adjoint.tensor(1.0), adjoint.ones(1, 2, 3), adjoint.ones(1, 3, 2))
    tensor([[[4., 4.],
             [4., 4.]]])

addmv
    >>> adjoint.addmv(adjoint.ones(2), adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), adjoint.ones(2), alpha=2)
    tensor([ 7., 15.])

trace
    >>> adjoint.trace(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)

bincount
    >>> adjoint.bincount(adjoint.tensor([0, 2, 2, 3]))
    tensor([1, 0, 2, 1])

zeros_like
    >>> adjoint.zeros_like(adjoint.tensor([1.0, 2.0]))
    tensor([0., 0.])

ones_like
    >>> adjoint.ones_like(adjoint.tensor([1, 2]))
    tensor([1, 1])

full_like
    >>> adjoint.full_like(adjoint.tensor([1.0, 2.0]), 7)
    tensor([7., 7.])

renorm
    >>> adjoint.renorm(adjoint.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])

gather
    >>> adjoint.gather(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), 1, adjoint.tensor([[1], [0]]))
    tensor([[2.],
            [3.]])

scatter_add
    >>> adjoint.scatter_add(adjoint.zeros(3), 0, adjoint.tensor([0, 2, 2]), adjoint.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 5.])

index_select
    >>> adjoint.index_select(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), 0, adjoint.tensor([1, 1]))
    tensor([[3., 4.],
            [3., 4.]])

index_add
    >>> adjoint.index_add(adjoint.zeros(3), 0, adjoint.tensor([0, 2, 2]), adjoint.tensor([1.0, 2.0, 3.0]), alpha=10)
    tensor([10.,  0., 50.])

index_copy
    >>> adjoint.index_copy(adjoint.zeros(3), 0, adjoint.tensor([2, 0]), adjoint.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])

index_fill
    >>> adjoint.index_fill(adjoint.tensor([1.0, 2.0, 3.0]), 0, adjoint.tensor([0, 2]), -1.0)
    tensor([-1.,  2., -1.])

take
    >>> adjoint.take(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), adjoint.tensor([0, -1]))
    tensor([1., 4.])

put
    >>> adjoint.Tensor.put(adjoint.zeros(2, 2), adjoint.tensor([0, -1]), adjoint.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])

masked_fill
    >>> adjoint.masked_fill(adjoint.tensor([1.0, 2.0, 3.0]), adjoint.tensor([False, True, False]), 0.0)
    tensor([1., 0., 3.])

masked_select
    >>> adjoint.masked_select(adjoint.tensor([1.0, 2.0, 3.0]), adjoint.tensor([True, False, True]))
    tensor([1., 3.])

masked_scatter
    >>> adjoint.masked_scatter(adjoint.zeros(3), adjoint.tensor([True, False, True]), adjoint.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])

argwhere
    >>> adjoint.argwhere(adjoint.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])

addcmul
    >>> adjoint.addcmul(adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 4.0]), adjoint.tensor([5.0, 6.0]), value=10)
    tensor([151., 242.])

addcdiv
    >>> adjoint.addcdiv(adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 4.0]), adjoint.tensor([2.0, 8.0]), value=10)
    tensor([16.,  7.])

lerp
    >>> adjoint.lerp(adjoint.tensor([0.0, 10.0]), adjoint.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])

logaddexp2
    >>> adjoint.logaddexp2(adjoint.tensor([0.0, 10.0]), adjoint.tensor([0.0, 10.0]))
    tensor([ 1., 11.])

deg2rad
    >>> adjoint.deg2rad(adjoint.tensor([180.0, 90.0]))
    tensor([3.1416, 1.5708])

rad2deg
    >>> adjoint.rad2deg(adjoint.tensor([adjoint.pi, 1.0]))
    tensor([180.0000,  57.2958])

polar
    >>> adjoint.polar(adjoint.tensor([1.0, 2.0]), adjoint.tensor([0.0, adjoint.pi / 2]))
    tensor([ 1.0000e+00+0.j, -8.7423e-08+2.j])

copysign
    >>> adjoint.copysign(adjoint.tensor([1.0, -2.0]), adjoint.tensor([-0.0, 3.0]))
    tensor([-1.,  2.])

frac
    >>> adjoint.frac(adjoint.tensor([1.5, -1.25]))
    tensor([ 0.5000, -0.2500])

frexp
    >>> adjoint.frexp(adjoint.tensor([1.0, 10.0]))
    adjoint.return_types.frexp(
    mantissa=tensor([0.5000, 0.6250]),
    exponent=tensor([1, 4], dtype=adjoint.int32))

ldexp
    >>> adjoint.ldexp(adjoint.tensor([1.0, 3.0]), adjoint.tensor([2, 3]))
    tensor([ 4., 24.])

nan_to_num
    >>> adjoint.nan_to_num(adjoint.tensor([adjoint.nan, adjoint.inf, 1.0]), posinf=9.0)
    tensor([0., 9., 1.])

nextafter
    >>> adjoint.nextafter(adjoint.tensor(1.0), adjoint.tensor(2.0)).item()
    1.0000001192092896

heaviside
    >>> adjoint.heaviside(adjoint.tensor([-1.0, 0.0, 2.0]), adjoint.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])

fmax
    >>> adjoint.fmax(adjoint.tensor([1.0, adjoint.nan]), adjoint.tensor([3.0, 2.0]))
    tensor([3., 2.])

fmin
    >>> adjoint.fmin(adjoint.tensor([1.0, adjoint.nan]), adjoint.tensor([3.0, 2.0]))
    tensor([1., 2.])

signbit
    >>> adjoint.signbit(adjoint.tensor([-0.0, 0.0, -1.0]))
    tensor([ True, False,  True])

isposinf
    >>> adjoint.isposinf(adjoint.tensor([adjoint.inf, -adjoint.inf]))
    tensor([ True, False])

isneginf
    >>> adjoint.isneginf(adjoint.tensor([adjoint.inf, -adjoint.inf]))
    tensor([False,  True])

isreal
    >>> adjoint.isreal(adjoint.tensor([1 + 0j, 1j]))
    tensor([ True, False])

bitwise_left_shift
    >>> adjoint.bitwise_left_shift(adjoint.tensor([1, 3]), 2)
    tensor([ 4, 12])

bitwise_right_shift
    >>> adjoint.bitwise_right_shift(adjoint.tensor([9, -9]), 1)
    tensor([ 4, -5])

gcd
    >>> adjoint.gcd(adjoint.tensor([12, -8]), adjoint.tensor([18, 6]))
    tensor([6, 2])

lcm
    >>> adjoint.lcm(adjoint.tensor([4, 6]), adjoint.tensor([6, 8]))
    tensor([12, 24])

cummax
    >>> adjoint.cummax(adjoint.tensor([1.0, 3.0, 2.0]), 0)
    adjoint.return_types.cummax(
    values=tensor([1., 3., 3.]),
    indices=tensor([0, 1, 1]))

cummin
    >>> adjoint.cummin(adjoint.tensor([3.0, 1.0, 2.0]), 0)
    adjoint.return_types.cummin(
    values=tensor([3., 1., 1.]),
    indices=tensor([0, 1, 1]))

logcumsumexp
    >>> adjoint.logcumsumexp(adjoint.tensor([0.0, 0.0, 0.0]), 0)
    tensor([0.0000, 0.6931, 1.0986])

reshape
    >>> adjoint.reshape(adjoint.tensor([1, 2, 3, 4]), (2, -1))
    tensor([[1, 2],
            [3, 4]])

unsqueeze
    >>> adjoint.unsqueeze(adjoint.tensor([1, 2]), 1)
    tensor([[1],
            [2]])

transpose
    >>> adjoint.transpose(adjoint.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1)
    tensor([[1, 4],
            [2, 5],
            [3, 6]])

expand
    >>> adjoint.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])

repeat
    >>> adjoint.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])

stack
    >>> adjoint.stack([adjoint.tensor([1, 2]), adjoint.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])

split_with_sizes
    >>> adjoint.split_with_sizes(adjoint.tensor([1, 2, 3, 4]), [1, 3])
    (tensor([1]), tensor([2, 3, 4]))

unsafe_split
    >>> adjoint.unsafe_split(adjoint.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))

unsafe_split_with_sizes
    >>> adjoint.unsafe_split_with_sizes(adjoint.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))

unbind
    >>> adjoint.unbind(adjoint.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))

flip
    >>> adjoint.flip(adjoint.tensor([[1, 2], [3, 4]]), (1,))
    tensor([[2, 1],
            [4, 3]])

tril
    >>> adjoint.tril(adjoint.ones(3, 3), diagonal=-1)
    tensor([[0., 0., 0.],
            [1., 0., 0.],
            [1., 1., 0.]])

triu
    >>> adjoint.triu(adjoint.ones(3, 3), diagonal=1)
    tensor([[0., 1., 1.],
            [0., 0., 1.],
            [0., 0., 0.]])

diagonal
    >>> adjoint.diagonal(adjoint.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])

view_as_real
    >>> adjoint.view_as_real(adjoint.tensor([1 + 2j]))
    tensor([[1., 2.]])

view_as_complex
    >>> adjoint.view_as_complex(adjoint.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])

sort
    >>> adjoint.sort(adjoint.tensor([3.0, 1.0, 2.0]))
    adjoint.return_types.sort(
    values=tensor([1., 2., 3.]),
    indices=tensor([1, 2, 0]))

argsort
    >>> adjoint.argsort(adjoint.tensor([3.0, 1.0, 2.0]), descending=True)
    tensor([0, 2, 1])

topk
    >>> adjoint.topk(adjoint.tensor([3.0, 1.0, 2.0]), 2)
    adjoint.return_types.topk(
    values=tensor([3., 2.]),
    indices=tensor([0, 2]))

kthvalue
    >>> adjoint.kthvalue(adjoint.tensor([3.0, 1.0, 2.0]), 2)
    adjoint.return_types.kthvalue(
    values=tensor(2.),
    indices=tensor(2))

mode
    >>> adjoint.mode(adjoint.tensor([3.0, 1.0, 3.0, 1.0, 5.0]))
    adjoint.return_types.mode(
    values=tensor(1.),
    indices=tensor(3))
"""

import re


def example_of(name: str) -> str:
    """The example of an operation, empty if there is none here.

    >>> example_of("neg").splitlines()[1]
    'tensor([-1.,  2.])'
    """
    match = re.search(rf"^{name}\n((?: {{4}}.*\n)+)", __doc__ or "", re.M)
    return "" if match is None else re.sub("^ {4}", "", match[1], flags=re.M).rstrip()
