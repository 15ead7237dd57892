/* Exact search over vectors of 8-bit numbers, and a first selection by sign bits. Sums are whole numbers, so that the
 * result is the same on every processor. Compile with -DCLONES for versions by instruction set, chosen at load. */
#include <stdint.h>

#ifdef CLONES
#define VERSIONS __attribute__((target_clones("avx2", "default")))
#else
#define VERSIONS
#endif

/* The k best are a heap with the worst on top; of equal similarities, the earlier row is better. */
static int is_worse(float s, int32_t i, float t, int32_t j) { return s < t || (s == t && i > j); }

static void offer(float *heap, int32_t *ids, int32_t k, int32_t *filled, float s, int32_t id)
{
    int32_t at;
    if (*filled < k) {
        for (at = (*filled)++; at && is_worse(s, id, heap[(at - 1) / 2], ids[(at - 1) / 2]); at = (at - 1) / 2) {
            heap[at] = heap[(at - 1) / 2];
            ids[at] = ids[(at - 1) / 2];
        }
    } else {
        if (!is_worse(heap[0], ids[0], s, id))
            return;
        for (at = 0;;) {
            int32_t child = 2 * at + 1;
            if (child >= k)
                break;
            if (child + 1 < k && is_worse(heap[child + 1], ids[child + 1], heap[child], ids[child]))
                child++;
            if (!is_worse(heap[child], ids[child], s, id))
                break;
            heap[at] = heap[child];
            ids[at] = ids[child];
            at = child;
        }
    }
    heap[at] = s;
    ids[at] = id;
}

VERSIONS static int32_t dot(const int8_t *a, const int8_t *b, int64_t n)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (int32_t)a[i] * (int32_t)b[i];
    return sum;
}

VERSIONS int32_t exact_top(int64_t n, int64_t width, int64_t stride, const int8_t *codes, const float *scales,
                           const int8_t *query, int32_t k, float *heap, int32_t *ids)
{
    int32_t filled = 0;
    for (int64_t row = 0; row < n; row++) {
        const int8_t *code = codes + row * stride;
        int32_t sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (int32_t)code[i] * (int32_t)query[i];
        float s = (float)sum * scales[row];
        if (filled < k || s > heap[0])
            offer(heap, ids, k, &filled, s, (int32_t)row);
    }
    return filled;
}

int32_t rescore(int64_t n_chosen, const int32_t *chosen, int64_t width, const int8_t *codes, const float *scales,
                const int8_t *query, int32_t k, float *heap, int32_t *ids)
{
    int32_t filled = 0;
    for (int64_t c = 0; c < n_chosen; c++)
        offer(heap, ids, k, &filled, (float)dot(codes + chosen[c] * width, query, width) * scales[chosen[c]],
              chosen[c]);
    return filled;
}

/* Rows that differ from the query in the fewest sign bits: distances, then a count of each, then a threshold. */
#ifdef CLONES
__attribute__((target_clones("popcnt", "default")))
#endif
int64_t nearest_signs(int64_t n, int64_t words, const uint64_t *bits, const uint64_t *query, int64_t wanted,
                      uint16_t *distances, int32_t *chosen)
{
    int64_t counts[4096] = {0}, below = 0, found = 0, limit = 0;
    for (int64_t row = 0; row < n; row++) {
        int d = 0;
        for (int64_t w = 0; w < words; w++)
            d += __builtin_popcountll(bits[row * words + w] ^ query[w]);
        distances[row] = (uint16_t)d;
        counts[d]++;
    }
    while (limit < 4095 && below + counts[limit] < wanted)
        below += counts[limit++];
    int64_t ties = wanted - below;
    for (int64_t row = 0; row < n && found < wanted; row++)
        if (distances[row] < limit || (distances[row] == limit && ties-- > 0))
            chosen[found++] = (int32_t)row;
    return found;
}
