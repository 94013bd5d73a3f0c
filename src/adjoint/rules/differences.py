"""Differences of special functions as separate functions, since a subtraction would cancel all digits.

They are the derivatives of scaled functions. For large arguments such a function is almost a power, and the difference
is a power of the argument times a smooth function of its reciprocal, given as a Chebyshev series. The coefficients come
from mpmath's values with 600 bits. For smaller arguments only a digit or two cancel, and the values are subtracted.
"""

from .declare import Array, elementwise
from .special import BERNOULLI, alike, real_only

ROOT_PI = 1.772453850905516

#: x * erfcx_tail(x), x > 2, in Chebyshev polynomials of 8 / x ** 2 - 1.
_ERFCX_TAIL = (
    0.45506735628679745,
    -0.04039113540789716,
    0.003930366480445499,
    -0.0005138868642931215,
    7.986794180040215e-05,
    -1.3991312700505037e-05,
    2.6837378808813382e-06,
    -5.535965351717876e-07,
    1.2131483093914234e-07,
    -2.7994793218995594e-08,
    6.757666192761042e-09,
    -1.6975212031430205e-09,
    4.4189412747933847e-10,
    -1.1879944227189917e-10,
    3.2889364772882626e-11,
    -9.353649150378884e-12,
    2.7269618686638028e-12,
    -8.134982688104955e-13,
    2.479239309445107e-13,
    -7.708146519617419e-14,
    2.4417677060217975e-14,
    -7.87212814797183e-15,
    2.5803165724856178e-15,
    -8.5910989293991715e-16,
    2.90307246410082e-16,
    -9.948806573995515e-17,
    3.455305383361502e-17,
    -1.2154175788094388e-17,
    4.327308816551925e-18,
    -1.5581761848739921e-18,
)
#: x ** 2 * dawsn_slope(x), x > 4, in Chebyshev polynomials of 32 / x ** 2 - 1.
_DAWSN_SLOPE = (
    -0.5268747292065286,
    -0.028161349756993203,
    -0.0013841337090470154,
    -0.00010864256785952312,
    -1.2894626686981589e-05,
    -2.0742030399443423e-06,
    -3.414126064510391e-07,
    -2.1905963572521466e-08,
    1.8247189365004234e-08,
    9.748690673371497e-09,
    1.9070194885113473e-09,
    -3.862192368580732e-10,
    -3.332553879843751e-10,
    -4.3350946846322335e-11,
    3.172750272333538e-11,
    1.2198255726810507e-11,
    -2.2282727953158868e-12,
    -2.069849878071548e-12,
    8.16234022222401e-14,
    3.247070835036713e-13,
    9.920280244538109e-15,
    -5.2359062257405694e-14,
    -2.9576681907075074e-15,
    8.974598529165624e-15,
    3.6760146105806864e-16,
    -1.6285993391605352e-15,
    2.296046081837579e-17,
    3.0422391127201156e-16,
    -3.223154424847554e-17,
    -5.591395629229964e-17,
    1.3394147199982486e-17,
    9.42762831557317e-18,
    -4.228182950283632e-18,
    -1.2473430279388628e-18,
    1.1289875764585164e-18,
)
#: scaled_i_difference(x), 2 < x < 8, in Chebyshev polynomials of (x - 5) / 3.
_I_DIFFERENCE_MIDDLE = (
    0.032869163482552345,
    -0.034484117414389684,
    0.015537571725700932,
    -0.006472015350271822,
    0.0025191412902961993,
    -0.0009143364326038141,
    0.0003083489765986426,
    -9.642094863168632e-05,
    2.7952324305492657e-05,
    -7.522043169754185e-06,
    1.8831288637406933e-06,
    -4.397706476189064e-07,
    9.608316786852725e-08,
    -1.9698607385728068e-08,
    3.8006361963928434e-09,
    -6.920263230689457e-10,
    1.192290890460488e-10,
    -1.94855526410574e-11,
    3.027758266219273e-12,
    -4.4827700597622697e-13,
    6.33669392916097e-14,
    -8.5680872336385e-15,
    1.1101148926349555e-15,
    -1.3804524672255604e-16,
    1.650075499021014e-17,
    -1.898589474735576e-18,
    2.1056182306309613e-19,
)
#: x ** (3 / 2) * scaled_i_difference(x), x > 8, in Chebyshev polynomials of 16 / x - 1.
_I_DIFFERENCE = (
    0.2046391449198604,
    0.005348526093538557,
    0.00019150500095126415,
    1.2032615976256658e-05,
    1.1956976470208373e-06,
    1.716841771873406e-07,
    2.8338106568544693e-08,
    3.051206849093951e-09,
    -7.434135453836242e-10,
    -5.767283909234434e-10,
    -1.5193610828268228e-10,
    5.668790622840187e-12,
    1.8044700616077266e-11,
    4.253572073419929e-12,
    -1.1555903826473305e-12,
    -7.770703288310355e-13,
    1.4368043829851798e-14,
    1.0913028331591238e-13,
    1.1406069276023664e-14,
    -1.504914479121856e-14,
    -2.8555810770025593e-15,
    2.2314974121542637e-15,
    5.272258925544087e-16,
    -3.688526492667126e-16,
    -8.53559678467262e-17,
    6.754954219172899e-17,
    1.181107366296366e-17,
    -1.3225748797561126e-17,
    -1.0482866203741669e-18,
    2.6370450050586036e-18,
)
#: x ** (3 / 2) * scaled_k_difference(x), x > 8, in Chebyshev polynomials of 16 / x - 1.
_K_DIFFERENCE = (
    0.6130979329326011,
    -0.013207358657747133,
    0.00033823773902515864,
    -1.2865958480003546e-05,
    6.329500002231297e-07,
    -3.760881768706234e-08,
    2.590639307908374e-09,
    -2.0132082174750604e-10,
    1.7311017796798587e-11,
    -1.623453858515667e-12,
    1.6421116785672148e-13,
    -1.7757171143910778e-14,
    2.038181389659711e-15,
    -2.468555071400854e-16,
    3.1392295789069013e-17,
    -4.174058898188994e-18,
)


def _chebyshev(coefficients, t):
    """The sum of coefficients times Chebyshev polynomials of t between -1 and 1, by Clenshaw's recurrence."""
    first, *others = coefficients
    now = before = 0.0 * t
    for coefficient in reversed(others):
        now, before = 2 * t * now - before + coefficient, now
    return t * now - before + first


def _far_or_near(xp, input, bound, far, near):
    """One function beyond a bound, another one up to it."""
    is_far = input > bound
    by_near = near(xp.where(is_far, bound, input))
    return xp.where(is_far, far(xp.where(is_far, input, bound)), by_near) if xp.any(is_far) else by_near


@elementwise(input=lambda input, y: 2 * y * (input + y) - 1, dtypes="float", method=False, function=False)
def erfcx_tail(xp, input: Array):
    """The tail t of the continued fraction of erfcx: sqrt(pi) * erfcx(x) * (x + t) = 1 (DLMF 7.9.1)."""
    real_only("erfcx_tail", input)

    def far(x):
        square = xp.square(1 / x)
        return _chebyshev(_ERFCX_TAIL, 8 * square - 1) / x

    return _far_or_near(xp, input, 2.0, far, lambda x: 1 / (ROOT_PI * xp.special.erfcx(x)) - x)


def _dawsn_curvature(ops, input, y):
    return -2 * (ops.dawsn(input) + input * y)


@elementwise(input=_dawsn_curvature, dtypes="float", method=False, function=False)
def dawsn_slope(xp, input: Array):
    """1 - 2 * x * dawsn(x), the derivative of Dawson's integral (DLMF 7.10.4)."""
    real_only("dawsn_slope", input)

    def far(x):
        square = xp.square(1 / x)
        return _chebyshev(_DAWSN_SLOPE, 32 * square - 1) * square

    return _far_or_near(xp, xp.abs(input), 4.0, far, lambda x: 1 - 2 * x * xp.special.dawsn(x))


def _decay(xp, coefficients):
    # a difference at x > 8, which decays as x ** -1.5
    def far(x):
        inverse = 1 / x
        return _chebyshev(coefficients, 16 * inverse - 1) * inverse * xp.sqrt(inverse)

    return far


def _i_difference_partial(ops, input, y):
    # I1 / x by the recurrence, which has no pole at 0 (DLMF 10.29.1)
    return ops.sign(input) * (0.5 * (ops.special_i0e(input) - ops.bessel_i(input, 2, True)) - 2 * y)


@elementwise(input=_i_difference_partial, dtypes="float", method=False, function=False)
def scaled_i_difference(xp, input: Array):
    """exp(-abs(x)) * (I0(abs(x)) - I1(abs(x)))"""
    real_only("scaled_i_difference", input)

    def middle(x):
        return _chebyshev(_I_DIFFERENCE_MIDDLE, (x - 5) / 3)

    def near(x):
        return _far_or_near(xp, x, 2.0, middle, lambda x: xp.special.i0e(x) - xp.special.i1e(x))

    return _far_or_near(xp, xp.abs(input), 8.0, _decay(xp, _I_DIFFERENCE), near)


def _k_difference_partial(ops, input, y):
    return 2 * y - ops.special_scaled_modified_bessel_k1(input) / input


@elementwise(input=_k_difference_partial, dtypes="float", method=False, function=False)
def scaled_k_difference(xp, input: Array):
    """exp(x) * (K1(x) - K0(x))"""
    real_only("scaled_k_difference", input)
    return _far_or_near(xp, input, 8.0, _decay(xp, _K_DIFFERENCE), lambda x: xp.special.k1e(x) - xp.special.k0e(x))


#: The number of terms added before the series of digamma for large numbers is used.
_TERMS = 10


def _digamma_step(xp, x, step):
    """digamma(x + step) - digamma(x) of positive numbers, as a sum of positive terms (DLMF 5.5.2, 5.11.2)."""
    total = 0.0
    for k in range(_TERMS):
        total = total + step / (x + k) / (x + step + k)
    low = x + _TERMS
    high = low + step
    ratio = step / high
    below, above = xp.square(1 / low), xp.square(1 / high)
    # the divided difference of the series in Chebyshev polynomials of 1 / x ** 2
    value = slope = 0.0 * below
    for k in range(len(BERNOULLI), 0, -1):
        slope = slope * above + value
        value = value * below + BERNOULLI[k - 1] / (2 * k)
    slope = slope * above + value
    return total + xp.log1p(step / low) + 0.5 * ratio / low + below * ratio * (1 + low / high) * slope


@elementwise(
    input=lambda ops, input, step: ops.polygamma(input + step, 1) - ops.polygamma(input, 1),
    step=lambda ops, input, step: ops.polygamma(input + step, 1),
    dtypes="float",
    method=False,
    function=False,
    scalars=False,
)
def digamma_difference(xp, input: Array, step: Array):
    """digamma(input + step) - digamma(input)"""
    real_only("digamma_difference", input, step)
    input, step = alike(xp, input, step)
    positive = (input > 0) & (step > 0) & (input < xp.inf) & (step < xp.inf)
    by_sum = _digamma_step(xp, xp.where(positive, input, 1), xp.where(positive, step, 1))
    if xp.all(positive):
        return by_sum
    return xp.where(positive, by_sum, xp.special.psi(input + step) - xp.special.psi(input))
