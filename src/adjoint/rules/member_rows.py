"""Batches whose members have indices of their own along one axis: all members as rows of one array."""

from adjoint.arrays.namespace import namespace, underlying


class MemberRows:
    """The slices of all members along one axis, as rows of one array: one operation then indexes all members.

    batch: the argument of the batch form. size: the number of members. ops: operations on arrays with the batch axis.
    """

    def __init__(self, batch, size, ops):
        self.batch, self.size, self.ops = batch, size, ops

    def of(self, array, dim):
        """The rows: all members' slices along `dim`; an array without the batch axis is repeated."""
        data, axis = self.batch.strip(array)
        if axis is None:
            data = self.ops.expand(data, (self.size, *data.shape))
        order = (0, dim + 1, *[i for i in range(1, data.ndim) if i != dim + 1])
        return self.ops.reshape(self.ops.permute(data, order), (-1, *[data.shape[i] for i in order[2:]]))

    def members(self, rows, dim):
        """The inverse: the batch, with the rows as slices along `dim`."""
        data = self.ops.reshape(rows, (self.size, rows.shape[0] // self.size, *rows.shape[1:]))
        order = [0, *range(2, data.ndim)]
        order.insert(dim + 1, 1)
        return self.batch.join(self.ops.permute(data, tuple(order)))

    def numbers(self, index, n):
        """Each member's vector of indices as row numbers; each member has n rows."""
        data, _ = self.batch.strip(index)
        data = self.ops.reshape(data, (self.size, -1 if data.size else 0))
        data = self.ops.where(data < 0, data + n, data)
        first = namespace(underlying(data)).arange(self.size)[:, None] * n
        return self.ops.reshape(data + first, (-1,))
