# Quantiles of measurements. For the awk programs of the scripts that compare times, which begin with it.

function sort(values, n,    i, j, value) {
    for (i = 2; i <= n; i++) {
        value = values[i]
        for (j = i - 1; j > 0 && values[j] > value; j--) values[j + 1] = values[j]
        values[j + 1] = value
    }
}
# The value below which this part of the sorted ones lies, between two of them where need be.
function quantile(values, n, part,    at, whole) {
    at = 1 + (n - 1) * part
    whole = int(at)
    return values[whole] + (at - whole) * ((whole < n ? values[whole + 1] : values[n]) - values[whole])
}
