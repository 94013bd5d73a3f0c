"""Floor 0: what an array is, and what its elements are."""

from .dtypes import (
    ALIASES as ALIASES,
)
from .dtypes import (
    DIMENSIONED as DIMENSIONED,
)
from .dtypes import (
    DTYPES as DTYPES,
)
from .dtypes import (
    SCALAR as SCALAR,
)
from .dtypes import (
    ZERO_DIM as ZERO_DIM,
)
from .dtypes import (
    as_dtype as as_dtype,
)
from .dtypes import (
    bfloat16 as bfloat16,
)
from .dtypes import (
    bool_ as bool_,
)
from .dtypes import (
    can_cast as can_cast,
)
from .dtypes import (
    complex64 as complex64,
)
from .dtypes import (
    complex128 as complex128,
)
from .dtypes import (
    dtype as dtype,
)
from .dtypes import (
    finfo as finfo,
)
from .dtypes import (
    float16 as float16,
)
from .dtypes import (
    float32 as float32,
)
from .dtypes import (
    float64 as float64,
)
from .dtypes import (
    from_numpy_dtype as from_numpy_dtype,
)
from .dtypes import (
    get_default_complex_dtype as get_default_complex_dtype,
)
from .dtypes import (
    get_default_dtype as get_default_dtype,
)
from .dtypes import (
    iinfo as iinfo,
)
from .dtypes import (
    int8 as int8,
)
from .dtypes import (
    int16 as int16,
)
from .dtypes import (
    int32 as int32,
)
from .dtypes import (
    int64 as int64,
)
from .dtypes import (
    promote_all as promote_all,
)
from .dtypes import (
    promote_types as promote_types,
)
from .dtypes import (
    result_type as result_type,
)
from .dtypes import (
    scalar_dtype as scalar_dtype,
)
from .dtypes import (
    set_default_dtype as set_default_dtype,
)
from .dtypes import (
    uint8 as uint8,
)
from .dtypes import (
    uint16 as uint16,
)
from .dtypes import (
    uint32 as uint32,
)
from .dtypes import (
    uint64 as uint64,
)
from .infer import array_from_data as array_from_data
from .random import (
    Generator as Generator,
)
from .random import (
    default_generator as default_generator,
)
from .random import (
    get_rng_state as get_rng_state,
)
from .random import (
    initial_seed as initial_seed,
)
from .random import (
    manual_seed as manual_seed,
)
from .random import (
    seed as seed,
)
from .random import (
    set_rng_state as set_rng_state,
)
from .size import (
    CPU as CPU,
)
from .size import (
    Size as Size,
)
from .size import (
    as_device as as_device,
)
from .size import (
    check_shape as check_shape,
)
from .size import (
    cuda_is_available as cuda_is_available,
)
from .size import (
    device as device,
)
from .size import (
    type_name as type_name,
)
