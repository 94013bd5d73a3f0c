/* Greedy colourings of sparse matrices: vertices in a given order get the smallest colour that no neighbour forbids. */

#ifndef ADJOINT_COLOURING_H
#define ADJOINT_COLOURING_H

#include <Python.h>
#include <stdint.h>
#include "optimized_begin.h"

/* A sparse matrix in compressed rows: row r has the columns indices[starts[r]] ... indices[starts[r + 1] - 1]. */
typedef struct {
    const int64_t *starts;
    const int64_t *indices;
} adj_Rows;

static int64_t adj_smallest_colour(const int64_t *forbidden, int64_t vertex) {
    int64_t colour = 0;
    while (forbidden[colour] == vertex) {
        colour++;
    }
    return colour;
}

/* Colours n vertices so that the members of a set have different colours. sets: the members of each set; memberships:
   the sets of each vertex. forbidden: for each colour the vertex that must not get it; n + 1 entries of -1. */
static void adj_colour_apart(
    int64_t n, const char *set_starts, const char *set_members, const char *vertex_starts, const char *vertex_sets,
    const char *order, char *colours, char *forbidden
) {
    adj_Rows sets = {(const int64_t *)set_starts, (const int64_t *)set_members};
    adj_Rows memberships = {(const int64_t *)vertex_starts, (const int64_t *)vertex_sets};
    int64_t *colour_of = (int64_t *)colours, *taken = (int64_t *)forbidden;
    for (int64_t position = 0; position < n; position++) {
        int64_t vertex = ((const int64_t *)order)[position];
        for (int64_t i = memberships.starts[vertex]; i < memberships.starts[vertex + 1]; i++) {
            int64_t set = memberships.indices[i];
            for (int64_t k = sets.starts[set]; k < sets.starts[set + 1]; k++) {
                int64_t colour = colour_of[sets.indices[k]];
                if (colour >= 0) {
                    taken[colour] = vertex;
                }
            }
        }
        colour_of[vertex] = adj_smallest_colour(taken, vertex);
    }
}

/* True if a neighbour of a vertex, other than one, has a colour. */
static int adj_has_neighbour(
    const adj_Rows *graph, const int64_t *colour_of, int64_t vertex, int64_t other, int64_t colour
) {
    for (int64_t i = graph->starts[vertex]; i < graph->starts[vertex + 1]; i++) {
        int64_t neighbour = graph->indices[i];
        if (neighbour != other && neighbour != vertex && colour_of[neighbour] == colour) {
            return 1;
        }
    }
    return 0;
}

/* Star colouring of a graph with n vertices: neighbours differ, and no path of four vertices has only two colours. */
static void adj_colour_stars(
    int64_t n, const char *starts, const char *indices, const char *order, char *colours, char *forbidden
) {
    adj_Rows graph = {(const int64_t *)starts, (const int64_t *)indices};
    int64_t *colour_of = (int64_t *)colours, *taken = (int64_t *)forbidden;
    for (int64_t position = 0; position < n; position++) {
        int64_t vertex = ((const int64_t *)order)[position];
        for (int64_t i = graph.starts[vertex]; i < graph.starts[vertex + 1]; i++) {
            int64_t near = graph.indices[i];
            if (near == vertex) {
                continue;
            }
            if (colour_of[near] >= 0) {
                taken[colour_of[near]] = vertex;
            }
            for (int64_t k = graph.starts[near]; k < graph.starts[near + 1]; k++) {
                int64_t far = graph.indices[k], colour = colour_of[far];
                if (far == vertex || far == near || colour < 0 || taken[colour] == vertex) {
                    continue;
                }
                if (colour_of[near] < 0 || adj_has_neighbour(&graph, colour_of, far, near, colour_of[near])) {
                    taken[colour] = vertex;
                }
            }
        }
        colour_of[vertex] = adj_smallest_colour(taken, vertex);
    }
}

#include "optimized_end.h"
#endif
