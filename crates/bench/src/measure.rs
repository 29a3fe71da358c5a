//! Numbers: costs, medians, ratios. Integers throughout, so that a limit is exact.

use std::fmt;

use rustix::time::{ClockId, clock_gettime};

/// Processor time per request in nanoseconds, or any other quantity that is compared.
pub type Quantity = u64;

/// The median; of two middle values the lower one; `None` for an empty list.
pub fn median(values: &[Quantity]) -> Option<Quantity> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// The value that `per_mille` of the measurements do not exceed.
pub fn quantile(sorted: &[u64], per_mille: usize) -> Option<u64> {
    let rank = sorted.len().saturating_mul(per_mille).div_ceil(1000);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The processor time of the calling thread for one run of each work, in nanoseconds: the median of
/// rounds in which the works take turns. A round is `runs` runs of a work; a first round is not
/// counted and warms up.
///
/// # Errors
/// The first error of a work.
pub fn in_turns<const N: usize, E>(
    works: [&dyn Fn() -> Result<(), E>; N],
    rounds: usize,
    runs: u64,
) -> Result<[Quantity; N], E> {
    let mut costs = [const { Vec::new() }; N];
    for round in 0..=rounds {
        for (work, costs) in works.iter().zip(&mut costs) {
            let before = thread_nanos();
            for _ in 0..runs {
                work()?;
            }
            let used = thread_nanos().saturating_sub(before);
            if round > 0 {
                costs.push(used / runs.max(1));
            }
        }
    }
    Ok(costs.map(|costs| median(&costs).unwrap_or_default()))
}

/// The processor time that the calling thread has used so far, in nanoseconds.
fn thread_nanos() -> Quantity {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds
        .unwrap_or_default()
        .saturating_mul(1_000_000_000)
        .saturating_add(nanos.unwrap_or_default())
}

/// A ratio in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u64);

impl Ratio {
    /// So many thousandths.
    pub const fn thousandths(thousandths: u64) -> Self {
        Self(thousandths)
    }

    /// `ours / base`, rounded up; `None` when the base is zero.
    pub fn of(ours: Quantity, base: Quantity) -> Option<Self> {
        let scaled = u128::from(ours)
            .checked_mul(1000)?
            .div_ceil(u128::from(base).max(1));
        if base == 0 {
            None
        } else {
            u64::try_from(scaled).ok().map(Self)
        }
    }

    /// In thousandths.
    pub const fn in_thousandths(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two digits, rounded up like the ratio itself: the shown value never looks better than the
        // compared one.
        let hundredths = self.0.div_ceil(10);
        f.pad(&format!("{}.{:02}", hundredths / 100, hundredths % 100))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_measurement() {
        assert_eq!(median(&[5, 1, 9]), Some(5));
        assert_eq!(median(&[5, 1, 9, 7]), Some(5));
        assert_eq!(median(&[3]), Some(3));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn quantiles_are_measurements() {
        let sorted: Vec<u64> = (1..=200).collect();
        assert_eq!(quantile(&sorted, 500), Some(100));
        assert_eq!(quantile(&sorted, 990), Some(198));
        assert_eq!(quantile(&sorted, 1000), Some(200));
        assert_eq!(quantile(&[7], 1), Some(7));
        assert_eq!(quantile(&[], 500), None);
    }

    #[test]
    fn works_take_turns_and_are_measured_separately() {
        let order = std::cell::RefCell::new(String::new());
        let spin = |times: u64, name| {
            order.borrow_mut().push(name);
            (0..times).for_each(|n| {
                std::hint::black_box(n);
            });
            Ok::<_, ()>(())
        };
        let works: [&dyn Fn() -> _; 2] = [&|| spin(1_000, 'a'), &|| spin(100_000, 'b')];
        let [short, long] = in_turns(works, 3, 2).unwrap();
        assert_eq!(*order.borrow(), "aabbaabbaabbaabb");
        assert!(long > 10 * short, "{short} {long}");
        assert_eq!(in_turns([&|| Err(7)], 1, 1), Err(7));
    }

    #[test]
    fn ratios_round_against_us() {
        let ratio = Ratio::of(1_201, 1_000).unwrap();
        assert!(ratio > Ratio::thousandths(1_200));
        assert_eq!(ratio.to_string(), "1.21");
        assert_eq!(Ratio::of(1_200, 1_000).unwrap().to_string(), "1.20");
        assert_eq!(Ratio::of(1, 3).unwrap().in_thousandths(), 334);
        assert_eq!(Ratio::of(1, 0), None);
        assert_eq!(format!("{:>6}", Ratio::thousandths(980)), "  0.98");
    }
}
