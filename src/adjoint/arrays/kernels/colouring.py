"""Greedy colourings: each vertex, in a given order, gets the smallest colour that no neighbour forbids.

Sets and graphs are pairs (starts, indices) of a matrix in compressed rows.

Source: A. Gebremedhin, F. Manne, A. Pothen, "What color is your Jacobian? Graph coloring for computing derivatives",
SIAM Review 47 (2005) 629-705, algorithms 3.1 and 4.1.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy


def colours_apart(sets, memberships, order):
    """A colour for each vertex, so that the members of a set have different colours.

    sets: the vertices of each set. memberships: the sets of each vertex. order: the order of colouring.

    >>> colours_apart(([0, 2, 4], [0, 1, 1, 2]), ([0, 1, 3, 4], [0, 0, 1, 1]), [0, 1, 2])
    array([0, 1, 0])
    """
    starts, members, vertex_starts, vertex_sets, order = (
        whole(sets[0]), whole(sets[1]), whole(memberships[0]), whole(memberships[1]), whole(order)
    )  # fmt: skip
    n = len(order)
    colours, forbidden = working_arrays(n)
    if cython.compiled:
        first, second, third, fourth = (
            adj_bytes(starts),
            adj_bytes(members),
            adj_bytes(vertex_starts),
            adj_bytes(vertex_sets),
        )
        ordered, out, marks = adj_bytes(order), adj_bytes(colours), adj_bytes(forbidden)
        with cython.nogil:
            adj_colour_apart(n, first, second, third, fourth, ordered, out, marks)
        return colours
    for vertex in order.tolist():
        for i in range(vertex_starts[vertex], vertex_starts[vertex + 1]):
            set_colours = colours[members[starts[vertex_sets[i]] : starts[vertex_sets[i] + 1]]]
            forbidden[set_colours[set_colours >= 0]] = vertex
        colours[vertex] = int(numpy.argmax(forbidden != vertex))
    return colours


def star_colours(graph, order):
    """A colour for each vertex: neighbours differ, and each path of four vertices has three colours or more.

    >>> star_colours(([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]), [0, 1, 2, 3])
    array([0, 1, 0, 2])
    """
    starts, indices, order = whole(graph[0]), whole(graph[1]), whole(order)
    n = len(order)
    colours, forbidden = working_arrays(n)
    if cython.compiled:
        first, second, ordered = adj_bytes(starts), adj_bytes(indices), adj_bytes(order)
        out, marks = adj_bytes(colours), adj_bytes(forbidden)
        with cython.nogil:
            adj_colour_stars(n, first, second, ordered, out, marks)
        return colours
    for vertex in order.tolist():
        for near in indices[starts[vertex] : starts[vertex + 1]].tolist():
            if near == vertex:
                continue
            near_colour = colours[near]
            if near_colour >= 0:
                forbidden[near_colour] = vertex
            for far in indices[starts[near] : starts[near + 1]].tolist():
                if far in (vertex, near) or colours[far] < 0:
                    continue
                beyond = indices[starts[far] : starts[far + 1]]
                beyond = beyond[(beyond != near) & (beyond != far)]
                if near_colour < 0 or near_colour in colours[beyond]:
                    forbidden[colours[far]] = vertex
        colours[vertex] = int(numpy.argmax(forbidden != vertex))
    return colours


def working_arrays(n):
    """The initial colours, and for each colour the vertex that must not get it."""
    return numpy.full(n, -1, dtype=numpy.int64), numpy.full(n + 1, -1, dtype=numpy.int64)


def whole(array):
    """An array of int64 without gaps, as the loops in C read it."""
    return numpy.ascontiguousarray(array, dtype=numpy.int64)
