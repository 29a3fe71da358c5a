//! How an upstream is treated that has had enough, or that keeps failing.

use std::time::Duration;

/// The rules for pauses: how long an upstream is left alone after it said "too many", and whether
/// it is after it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conduct {
    /// The longest pause that a call itself waits out before it tries again; `None` for a call that
    /// a rate limit always ends.
    pub waits_out: Option<Duration>,
    /// The pause after "too many" when the upstream does not say how long.
    pub usual_pause: Duration,
    /// The shortest pause after "too many", whatever the upstream says.
    pub shortest_pause: Duration,
    /// The longest pause that an upstream can ask for.
    pub longest_pause: Duration,
    /// Whether what the upstream says is left of its limit is taken over when it is less than what
    /// we count.
    pub believes_what_is_left: bool,
    /// Whether an upstream that fails several times in a row is left alone for a while.
    pub breaks_off: bool,
}

impl Conduct {
    /// For data: short pauses are waited out, and what keeps failing is left alone.
    pub const DATA: Self = Self {
        waits_out: Some(Duration::from_secs(1)),
        usual_pause: Duration::from_secs(15),
        shortest_pause: Duration::ZERO,
        longest_pause: Duration::from_secs(3_600),
        believes_what_is_left: false,
        breaks_off: true,
    };

    /// For plans: a rate limit is told at once. A venue is asked for every plan, however it has
    /// been doing, because a plan has no older value to fall back to.
    pub const PLANS: Self = Self {
        waits_out: None,
        longest_pause: Duration::from_secs(2 * 3_600),
        believes_what_is_left: true,
        breaks_off: false,
        ..Self::DATA
    };

    /// The pause after "too many", and the seconds that a caller is told: `named` is what the
    /// upstream says.
    pub(super) fn pause(&self, named: Option<Duration>) -> (Duration, u64) {
        let named = named.unwrap_or(self.usual_pause);
        let pause = named.max(self.shortest_pause).min(self.longest_pause);
        // Who has waited in vain already is not sent back at once.
        let least = u64::from(self.waits_out.is_some());
        (pause, pause.as_secs().max(least))
    }
}
