#include <math.h>

struct gauge {
    double level;
};

/* Rounded up, for safety. */
static int rounded(const struct gauge *g)
{
    return (int)ceil(g->level);
}

int main(void)
{
    return 0; /* the last line of c */
}
