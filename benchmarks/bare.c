/* The least that ranking by an index can cost: gather the edges of each active feature and add up their votes.
 * No table of touched labels, no best k, no clearing; scores simply run on from row to row. */
#include <stdint.h>

struct edge { int32_t label; float weight; };

void bare_gather(int64_t n_rows, const int64_t *indptr, const int32_t *indices, const double *data,
                 const int64_t *edge_indptr, const struct edge *edges, const double *totals,
                 const int64_t *seen, int64_t d_max, double *scores)
{
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t p = indptr[row]; p < indptr[row + 1]; p++) {
            int64_t e = edge_indptr[indices[p]], end = edge_indptr[indices[p] + 1];
            double rating = seen[indices[p]] < 10 ? seen[indices[p]] / 10.0 : 1.0;
            double scale = rating * data[p] / totals[indices[p]];
            if (end > e + d_max)
                end = e + d_max;
            for (; e < end; e++)
                scores[edges[e].label] += scale * edges[e].weight;
        }
}

/* The least that learning a linear score can cost: the dot product of each row with the weights. */
void bare_dot(int64_t n_rows, const int64_t *indptr, const int32_t *indices, const double *data,
              const double *weights, double *scores)
{
    for (int64_t row = 0; row < n_rows; row++) {
        double score = 0.0;
        for (int64_t p = indptr[row]; p < indptr[row + 1]; p++)
            score += weights[indices[p]] * data[p];
        scores[row] = score;
    }
}
