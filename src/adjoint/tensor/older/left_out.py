"""Names of PyTorch that adjoint leaves out on purpose, with the reason and the replacement.

One table serves the AttributeErrors of modules and of Tensor, the page docs/left-out.md, and the test that every
missing name of PyTorch has a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Group(NamedTuple):
    """Names that are left out for the same reason.

    names: by the space that they belong to ("" is the top, "Tensor" the class), separated by blanks.
    """

    title: str
    reason: str
    instead: str
    names: dict[str, str]


GROUPS = (
    Group(
        "Modules without sizes, and for several devices",
        "a module gets all sizes when it is made, and runs in one process on one device",
        "the class without Lazy and with its sizes, the module itself in place of DataParallel",
        {
            "nn": """
                DataParallel LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d
                LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d
                LazyInstanceNorm3d LazyLinear SyncBatchNorm UninitializedBuffer UninitializedParameter parallel
            """,
            "nn.parameter": "UninitializedBuffer UninitializedParameter UninitializedTensorMixin",
        },
    ),
    Group(
        "Rare modules, and parts of modules",
        "few programs need it, or it is an internal part of PyTorch",
        "the functions of adjoint.nn.functional, and a Module of your own with the parameters",
        {
            "nn": """
                AdaptiveLogSoftmaxWithLoss Container CrossMapLRN2d LinearCrossEntropyLoss LinearCrossEntropyOptions
                attention intrinsic
            """,
            "nn.utils": """
                fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights fusion
                convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format memory_format init
            """,
            "Tensor": "module_load",
        },
    ),
    Group(
        "Gradients of single functions, by hand",
        "one table has the derivatives of all operations",
        "adjoint.func.vjp of the function, or adjoint.autograd.grad",
        {"nn": "grad", "nn.functional": "grad"},
    ),
    Group(
        "Loading of data",
        "programs load arrays with NumPy and its packages",
        "NumPy's indexing, slicing and memory maps, and adjoint.from_numpy",
        {"": "from_file hub"},
    ),
    Group(
        "Compilers, graphs of programs and symbolic sizes",
        "adjoint runs Python programs directly and does not script, trace or export them",
        "the function itself, with Python's if and while in place of cond and while_loop",
        {
            "": """
                AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType Block BoolType BufferDict CallStack
                Capsule ClassType Code CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType
                ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType
                EnumType ErrorReport ExecutionPlan FatalError FileCheck FloatType FunctionSchema Future FutureType
                Gradient Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType JITException ListType
                LiteScriptModule LockingLogger LoggerBase ModuleDict Node NoneType NoopLogger NumberType OperatorInfo
                OptionalType PRIVATE_OPS ParameterDict PyObjectType PyTorchFileReader PyTorchFileWriter RRefType SUM
                ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptFunction
                ScriptList ScriptListIterator ScriptMethod ScriptModule ScriptModuleSerializer ScriptObject
                ScriptObjectProperty SerializationStorageContext StaticModule StreamObjType StringType SymBool
                SymBoolType SymFloat SymInt SymIntType TensorType TracingState TupleType Type UnionType Use Value
                cond export fork futures fx get_file_path import_ir_module import_ir_module_from_buffer
                merge_type_from_type_comment package parse_ir parse_schema parse_type_comment sym_constrain_range
                sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt
                sym_sum unify_type_list wait while_loop
            """,
            "autograd.profiler": "Future",
            "utils.checkpoint": "fx_traceback",
            "nn.functional": "BroadcastingList1 BroadcastingList2 BroadcastingList3 boolean_dispatch",
        },
    ),
    Group(
        "Dispatch to other implementations",
        "an operation has one implementation for each library of arrays, and the array decides which one runs",
        "adjoint.autograd.Function or custom for an operation of your own, a subclass of Tensor for a type of your "
        "own, overrides.TorchFunctionMode for a block that sees the functions in it",
        {
            "": """
                DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet ExcludeDispatchKeyGuard
                Tag classes cpp library ops thread_safe_generator classproperty
            """,
            "autograd": "is_tensor_like",
            "autograd.function": "AUTOGRAD_FUNCTION_COUNTER custom_function_call hooks",
            "autograd.gradcheck": "is_tensor_like",
            "autograd.graph": "TorchDispatchMode",
            "utils": """
                backend_registration backcompat generate_methods_for_privateuse1_backend rename_privateuse1_backend
                set_module cpp_backtrace get_cpp_backtrace weak cmake_prefix_path collect_env deterministic
            """,
            "utils.checkpoint": "LoggingTensorMode TorchDispatchMode capture_logs",
        },
    ),
    Group(
        "Older functions of sparse tensors",
        "they change the size of a sparse tensor in place, or do the same as other functions",
        "the functions of adjoint.sparse, such as mm, addmm and sum, and the methods to_sparse, values and indices",
        {
            "": """
                ccol_indices_copy col_indices_copy crow_indices_copy dsmm hsmm hspmm indices_copy resize_as_sparse_
                row_indices_copy saddmm smm spmm sspaddmm values_copy
            """,
            "Tensor": "resize_as_sparse_ smm sparse_resize_ sparse_resize_and_clear_ sspaddmm",
            "cuda": "sparse",
            "nn.init": "sparse",
        },
    ),
    Group(
        "Nested and masked tensors",
        "each tensor has one shape, and a value for each index",
        "padded tensors with a mask, and the reductions of adjoint.masked",
        {
            "": "jagged nested",
            "Tensor": "to_padded_tensor",
            "masked": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor maskedtensor",
        },
    ),
    Group(
        "Quantized tensors and small dtypes",
        "NumPy has no such dtypes, and adjoint does not round weights",
        "int8 and float16, or adjoint.bfloat16 with ml_dtypes",
        {
            "": """
                QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage ao bit bits16 bits1x8 bits2x4
                bits4x2 bits8 chalf choose_qparams_optimized complex32 dequantize empty_quantized
                fake_quantize_per_channel_affine fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight
                fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
                fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
                fbgemm_pack_quantized_matrix float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
                float8_e8m0fnu fused_moving_avg_obs_fake_quant int1 int2 int3 int4 int5 int6 int7 int_repr
                per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine
                per_tensor_symmetric q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale
                q_zero_point qint32 qint8 qscheme quantization quantize_per_channel quantize_per_tensor
                quantize_per_tensor_dynamic quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm
                quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d
                quantized_rnn_relu_cell quantized_rnn_tanh_cell quint2x4 quint4x2 quint8 uint1 uint2 uint3 uint4 uint5
                uint6 uint7
            """,
            "Tensor": """
                chalf dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale
                q_zero_point qscheme
            """,
            "nn": "qat quantizable quantized",
            "nn.functional": "ScalingType SwizzleType scaled_grouped_mm scaled_mm",
        },
    ),
    Group(
        "Automatic mixed precision",
        "operations compute in the dtype of their arguments",
        "Tensor.to for another dtype; operations on half precision compute in single precision, as on torch's CPU",
        {
            "": """
                GradScaler amp autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
                get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
                get_autocast_xla_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
                is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
                set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
                set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled
            """,
            "cpu": "amp",
            "cuda": "amp",
        },
    ),
    Group(
        "Kernels of one library",
        "such a function is for one library, but NumPy, SciPy or CuPy computes on arrays",
        "the function without the name of the library: batch_norm, conv2d, grid_sample, affine_grid and others",
        {
            "": """
                batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
                batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats cudnn_affine_grid_generator
                cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
                cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable miopen_batch_norm miopen_convolution
                miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss
                miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution
                mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer
                is_vulkan_available
            """,
            "Tensor": "to_mkldnn",
            "backends": "cusparselt kleidiai mha miopen python_native quantized",
            "cuda": "nccl gds tunable",
        },
    ),
    Group(
        "Other devices",
        "arrays are in main memory, or with CuPy on a CUDA device",
        'the devices "cpu" and "cuda"',
        {"Tensor": "ipu mtia xpu"},
    ),
    Group(
        "Kernels and allocators of CUDA",
        "CuPy runs kernels and allocates memory on the device, and has its own functions for this",
        "CuPy itself: cupy.cuda, cupy.RawKernel, cupy.cuda.MemoryPool, and arrays shared through adjoint.as_tensor",
        {
            "": "AcceleratorError profiler_allow_cudagraph_cupti_lazy_reinit_cuda12",
            "Tensor": "record_stream",
            "accelerator": "Graph graphs memory",
            "cuda": """
                CUDAPluggableAllocator CudaError DEVICE_REQUIREMENT DeferredCudaCallError ExternalStream
                GreenContext MemPool PYTORCH_RELEASES_CODE_CC caching_allocator_alloc caching_allocator_delete
                caching_allocator_disabled caching_allocator_enable change_current_allocator check_error cudaStatus
                cudart current_blas_handle current_solver_handle default_generators has_half has_magma
                get_allocator_backend get_arch_list
                get_gencode_flags get_per_process_memory_fraction get_stream_from_external get_sync_debug_mode
                graphs green_contexts ipc_collect jiterator
                make_graphed_callables memory random set_per_process_memory_fraction set_sync_debug_mode streams
                use_mem_pool
            """,
            "cuda.profiler": "DEFAULT_FLAGS check_error cudart",
        },
    ),
    Group(
        "Counters of a device",
        "CuPy counts only the bytes in use, and has no other counters",
        "adjoint.cuda.memory_allocated, memory_reserved and mem_get_info; nvidia-smi for the rest",
        {
            "accelerator": """
                max_memory_allocated max_memory_reserved memory_stats reset_accumulated_memory_stats
                reset_peak_memory_stats empty_host_cache
            """,
            "cuda": """
                clock_rate device_memory_used host_memory_stats host_memory_stats_as_nested_dict list_gpu_processes
                max_memory_allocated max_memory_cached max_memory_reserved memory_cached memory_snapshot memory_stats
                memory_stats_as_nested_dict memory_summary memory_usage power_draw reset_accumulated_host_memory_stats
                reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached
                reset_peak_host_memory_stats reset_peak_memory_stats temperature utilization
            """,
        },
    ),
    Group(
        "Streams of the processor",
        "an operation on the processor is complete when it returns, so it needs no queue",
        "the call itself; adjoint.cuda.Stream and Event for devices",
        {"": "Event Stream", "cpu": "Event Stream StreamContext current_stream stream get_capabilities"},
    ),
    Group(
        "Types of storages and of tensors on a device",
        "memory has no type, only the tensor has a dtype",
        "Tensor.untyped_storage(), Tensor.to(dtype=..., device=...)",
        {
            "": """
                BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage
                DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage Storage StorageBase
            """,
            "cuda": """
                BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor
                ComplexDoubleStorage ComplexFloatStorage DoubleStorage DoubleTensor FloatStorage FloatTensor HalfStorage
                HalfTensor IntStorage IntTensor LongStorage LongTensor ShortStorage ShortTensor
            """,
        },
    ),
    Group(
        "Several processes",
        "processes share arrays in the same ways as other programs with NumPy",
        "Tensor.share_memory_ with Python's multiprocessing, adjoint.distributed for dask and MPI",
        {
            "": "multiprocessing monitor prepare_multiprocessing_environment is_distributed",
            "Tensor": "is_distributed",
            "distributed": """
                AllToAllOptions AllreduceCoalescedOptions AllreduceOptions Backend BackendConfig BarrierOptions
                BroadcastOptions BuiltinCommHookType DebugLevel DeviceMesh DistBackendError DistError DistNetworkError
                DistStoreError FileStore GatherOptions GradBucket GroupMember GroupName HashStore Logger P2POp
                PrefixStore ProcessGroup ProcessGroupGloo QueueEmptyError ReduceOp ReduceOptions ReduceScatterOptions
                Reducer ScatterOptions Store TCPStore Work algorithms all_gather all_gather_coalesced
                all_gather_into_tensor all_gather_object all_gather_single all_reduce all_reduce_coalesced all_to_all
                all_to_all_single autograd barrier batch_isend_irecv breakpoint broadcast broadcast_object_list
                c10d_logger config constants default_pg_timeout destroy_process_group device_mesh distributed_c10d
                gather gather_object get_backend get_backend_config get_debug_level get_default_backend_for_device
                get_global_rank get_group_rank get_node_local_rank get_pg_count get_process_group_ranks get_rank
                get_world_size group init_device_mesh init_process_group irecv isend logging_handlers monitored_barrier
                new_group new_subgroups new_subgroups_by_enumeration nn record_comm recv recv_object_list reduce
                reduce_op reduce_scatter reduce_scatter_single reduce_scatter_tensor register_rendezvous_handler
                remote_device rendezvous rpc scatter scatter_object_list send send_object_list set_debug_level
                set_debug_level_from_env shrink_group split_group supports_complex utils
            """,
        },
    ),
    Group(
        "The build of PyTorch, and its internal parts",
        "it describes PyTorch's C++ library, or is an internal part of PyTorch",
        "adjoint.__version__, adjoint.set_num_threads, adjoint.backends",
        {
            "": """
                BenchmarkConfig BenchmarkExecutionStats ThroughputBenchmark builtins compiled_with_cxx11_abi functional
                get_num_interop_threads hash_tensor init_num_threads serialization set_anomaly_enabled
                set_flush_denormal set_num_interop_threads storage torch_version types version windows
                USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH has_lapack has_mkl has_openmp has_spectral
                legacy_contiguous_format native_norm slice_inverse embedding_renorm_ get_device_module
            """,
            "Tensor": "const_data_ptr hash_tensor slice_inverse storage_type",
            "autograd": "DeviceType ProfilerConfig ProfilerEvent ProfilerState",
            "autograd.gradcheck": "vmap",
            "autograd.graph": "RemovableHandle Variable",
            "autograd.profiler": "ProfilerConfig ProfilerState",
            "cpu": "MappingProxyType",
            "nn.functional": """
                DType GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES assert_int_or_pair
            """,
            "nn.utils": "clip_grad convert_parameters",
            "profiler": "Optimizer RecordScope is_fbcode itt profiler register_optimizer_step_post_hook",
            "utils": "ThroughputBenchmark throughput_benchmark",
            "utils.checkpoint": "DefaultDeviceType SavedTensor Text tree_map",
        },
    ),
    Group(
        "Names that PyTorch no longer supports",
        "in PyTorch 2.13 it raises an error, warns that it is deprecated, or is not documented",
        "adjoint.linalg (eig, eigh, solve, lstsq, matrix_rank), Tensor.reshape, the name with an underscore at the "
        "end, adjoint.testing.assert_close",
        {
            "": "eig lstsq matrix_rank solve symeig",
            "Tensor": "eig lstsq resize resize_as solve symeig index name",
            "nn.init": """
                constant dirac eye kaiming_normal kaiming_uniform normal orthogonal uniform xavier_normal
                xavier_uniform
            """,
            "nn.utils": "clip_grad_norm",
            "accelerator": "current_device_idx device_index set_device_idx",
            "testing": "assert_allclose",
        },
    ),
)


def _entries() -> Iterator[tuple[tuple[str, str], Group]]:
    for group in GROUPS:
        for space, names in group.names.items():
            for name in names.split():
                yield (space, name), group


#: The group of each name that is left out, by its space and name.
LEFT_OUT = dict(_entries())


def explanation(space: str, name: str) -> str | None:
    """The text of the error for a name that is left out; None for any other name."""
    group = LEFT_OUT.get((space, name))
    if group is None:
        return None
    full = ".".join(part for part in ("torch", space, name) if part)
    return f"{full} is left out of adjoint on purpose: {group.reason}; instead, use {group.instead}"
