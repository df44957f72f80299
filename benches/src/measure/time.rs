//! Times of calls, sorted and summed up.

/// Times of the calls that count, in milliseconds.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "bench", derive(serde::Serialize, serde::Deserialize))]
pub struct Time {
    /// The number of calls.
    pub calls: usize,
    /// The median: half of the calls took longer.
    pub median_ms: f64,
    /// The time of the shortest call.
    pub min_ms: f64,
    /// The lower quartile: half of the calls lie between the quartiles, which show the noise.
    pub q1_ms: f64,
    /// The upper quartile.
    pub q3_ms: f64,
    /// The time of the longest call.
    pub max_ms: f64,
}

impl Time {
    /// Sums up the times of calls, in milliseconds; `None` without calls.
    pub fn of(mut ms: Vec<f64>) -> Option<Self> {
        ms.sort_by(f64::total_cmp);
        let (&min_ms, &max_ms) = (ms.first()?, ms.last()?);
        // Between the two neighbours, as NumPy does it.
        let quantile = |part: f64| {
            let at = part * (ms.len() - 1) as f64;
            let (low, high) = (ms[at.floor() as usize], ms[at.ceil() as usize]);
            low + (high - low) * at.fract()
        };
        let [q1_ms, median_ms, q3_ms] = [0.25, 0.5, 0.75].map(quantile);
        Some(Self { calls: ms.len(), median_ms, min_ms, q1_ms, q3_ms, max_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_neighbours_and_one_call_is_its_own_noise() {
        let time = Time::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((time.min_ms, time.q1_ms, time.median_ms, time.q3_ms, time.max_ms), (1.0, 1.75, 2.5, 3.25, 4.0));
        let time = Time::of(vec![7.0]).unwrap();
        assert_eq!((time.calls, time.min_ms, time.median_ms, time.q3_ms), (1, 7.0, 7.0, 7.0));
        assert!(Time::of(Vec::new()).is_none());
    }
}
