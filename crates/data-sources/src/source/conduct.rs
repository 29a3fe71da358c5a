//! The treatment of an upstream after it limits our requests, and while it keeps failing.

use std::time::Duration;

/// The rules for pauses: how long an upstream is not asked after "too many requests", and whether
/// it is not asked after failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conduct {
    /// The longest pause that a call waits out before it tries again; `None` if a rate limit always
    /// ends the call.
    pub waits_out: Option<Duration>,
    /// The pause after "too many requests" when the upstream does not name one.
    pub usual_pause: Duration,
    /// The shortest pause after "too many requests", whatever the upstream names.
    pub shortest_pause: Duration,
    /// The longest pause that an upstream can ask for.
    pub longest_pause: Duration,
    /// Whether the upstream's statement of its remaining limit counts when it is lower than our
    /// own.
    pub believes_what_is_left: bool,
    /// Whether an upstream that fails several times in a row is not asked for a while.
    pub breaks_off: bool,
}

impl Conduct {
    /// The rules for data: calls wait out short pauses, and a failing upstream is not asked for a
    /// while.
    pub const DATA: Self = Self {
        waits_out: Some(Duration::from_secs(1)),
        usual_pause: Duration::from_secs(15),
        shortest_pause: Duration::ZERO,
        longest_pause: Duration::from_secs(3_600),
        believes_what_is_left: false,
        breaks_off: true,
    };

    /// The rules for plans: a rate limit ends the call at once. A venue is asked for every plan,
    /// whatever its health, because a plan has no older value as a fallback.
    pub const PLANS: Self = Self {
        waits_out: None,
        longest_pause: Duration::from_secs(2 * 3_600),
        believes_what_is_left: true,
        breaks_off: false,
        ..Self::DATA
    };

    /// The pause after "too many requests", and the seconds that the caller gets to see. `named` is
    /// the pause that the upstream named.
    pub(super) fn pause(&self, named: Option<Duration>) -> (Duration, u64) {
        let named = named.unwrap_or(self.usual_pause);
        let pause = named.max(self.shortest_pause).min(self.longest_pause);
        // A caller that has already waited in vain is not asked to come back at once.
        let least = u64::from(self.waits_out.is_some());
        (pause, pause.as_secs().max(least))
    }
}
