//! The sliding window of a budget. Pure: the caller passes the time in.

use std::{collections::VecDeque, time::Duration};

use super::{Rate, common};
use crate::meter::Caller;

/// How long after its grant a call may reach the upstream. An entry counts for that much longer
/// than the upstream's window, so that a late call and a prompt one never fall into one window of
/// the upstream.
pub(super) const TRANSIT: Duration = Duration::from_secs(1);

/// Grants weight, never more than the limit in any window of its length plus [`TRANSIT`], and to
/// newcomers never more than the common part of it. One call of a newcomer that alone weighs more
/// than that part is granted while no other newcomer's is in the window.
///
/// A grant may lie in the future: then the caller waits until that time. Grants keep the order of
/// the requests.
#[derive(Debug)]
pub(super) struct Window {
    limit: u32,
    /// The part of the limit that newcomers may use. The rest is reserved.
    common: u32,
    span: Duration,
    /// Grants in ascending order of their time. Grants that no window from now on contains are
    /// removed.
    granted: VecDeque<Grant>,
    next_id: u64,
    /// The latest time that was passed in: time does not go back.
    latest: Duration,
}

#[derive(Debug)]
struct Grant {
    id: u64,
    at: Duration,
    weight: u32,
    /// Whether it counts as a newcomer's. One of an unknown caller does.
    is_common: bool,
}

/// A grant: when the call may be made, and the grant's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Granted {
    pub(super) id: u64,
    /// How long to wait before the call is made.
    pub(super) wait: Duration,
}

impl Window {
    /// A window without grants. Of its limit, `reserved_percent` is not for newcomers.
    pub(super) fn new(rate: Rate, reserved_percent: u8) -> Self {
        Self {
            limit: rate.weight,
            common: common(rate.weight, reserved_percent),
            span: Duration::from_secs(u64::from(rate.seconds)).saturating_add(TRANSIT),
            granted: VecDeque::new(),
            next_id: 0,
            latest: Duration::ZERO,
        }
    }

    /// Grants weight for a call at `now`, or at a later time within `patience`. Otherwise returns
    /// the time until the weight is free, and grants nothing.
    pub(super) fn take(
        &mut self,
        now: Duration,
        weight: u32,
        caller: Caller,
        patience: Duration,
    ) -> Result<Granted, Duration> {
        let now = self.at(now);
        let wait = self.earliest(now, weight, caller)?.saturating_sub(now);
        if wait > patience {
            return Err(wait);
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.granted.push_back(Grant {
            id,
            at: now.saturating_add(wait),
            weight,
            is_common: caller == Caller::Newcomer,
        });
        Ok(Granted { id, wait })
    }

    /// Corrects the weight of a grant.
    pub(super) fn correct(&mut self, id: u64, weight: u32) {
        if let Some(grant) = self.granted.iter_mut().find(|grant| grant.id == id) {
            grant.weight = weight;
        }
    }

    /// Takes over the upstream's statement: `left` calls until `reset` from now. Use that it counts
    /// beyond our own grants counts here until then. A lower count is ignored.
    pub(super) fn reported(&mut self, now: Duration, left: u32, reset: Duration) {
        let now = self.at(now);
        let ours = self.limit.saturating_sub(self.taken());
        let excess = ours.saturating_sub(left);
        let passed = self.span.saturating_sub(reset.saturating_add(TRANSIT));
        if excess == 0 {
            return;
        }
        self.insert(now.saturating_sub(passed), excess);
    }

    /// Counts a grant that an earlier process got `age` ago.
    pub(super) fn resume(&mut self, now: Duration, age: Duration, weight: u32) {
        let now = self.at(now);
        if age < self.span {
            self.insert(now.saturating_sub(age), weight);
        }
    }

    fn insert(&mut self, at: Duration, weight: u32) {
        let place = self.granted.partition_point(|grant| grant.at <= at);
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let grant = Grant {
            id,
            at,
            weight,
            is_common: true,
        };
        self.granted.insert(place, grant);
    }

    /// Weight that a call could take at `now` without waiting.
    pub(super) fn left(&mut self, now: Duration) -> u32 {
        self.at(now);
        self.limit.saturating_sub(self.taken())
    }

    fn taken(&self) -> u32 {
        weight_of(self.granted.iter())
    }

    /// The earliest time at which `weight` fits; `Err` with a whole window when it never does.
    fn earliest(&self, now: Duration, weight: u32, caller: Caller) -> Result<Duration, Duration> {
        let room = self.limit.checked_sub(weight).ok_or(self.span)?;
        let fits = self.leaves(now, room, self.granted.iter());
        Ok(match caller {
            Caller::Credited => fits,
            Caller::Newcomer => {
                let common = self.granted.iter().filter(|grant| grant.is_common);
                fits.max(self.leaves(now, self.common.saturating_sub(weight), common))
            }
        })
    }

    /// The earliest time at which these grants have left no more than `room` in the window.
    fn leaves<'a>(
        &self,
        now: Duration,
        room: u32,
        grants: impl Iterator<Item = &'a Grant> + Clone,
    ) -> Duration {
        // No grant is earlier than the last one. Otherwise it could fall into a window that later
        // grants have filled.
        let last = self.granted.back().map_or(now, |grant| grant.at.max(now));
        let mut taken = weight_of(grants.clone());
        let mut earliest = last;
        for grant in grants {
            if taken <= room {
                break;
            }
            taken = taken.saturating_sub(grant.weight);
            earliest = last.max(grant.at.saturating_add(self.span));
        }
        earliest
    }

    /// Moves on to `now`, and removes the grants that no window from then on contains.
    fn at(&mut self, now: Duration) -> Duration {
        // Times are stored one window later, so that a time before the first one can be computed.
        self.latest = self.latest.max(now.saturating_add(self.span));
        while let Some(grant) = self.granted.front() {
            if grant.at.saturating_add(self.span) > self.latest {
                break;
            }
            self.granted.pop_front();
        }
        self.latest
    }
}

fn weight_of<'a>(grants: impl Iterator<Item = &'a Grant>) -> u32 {
    grants
        .map(|grant| grant.weight)
        .fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OWN: Caller = Caller::Credited;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_full_window_frees_weight_as_its_grants_leave_it() {
        let mut window = Window::new(Rate::per(10, 9), 0);
        let now =
            |window: &mut Window, at, weight| window.take(ms(at), weight, OWN, Duration::ZERO);
        assert!(now(&mut window, 0, 6).is_ok());
        assert!(now(&mut window, 4_000, 4).is_ok());
        assert_eq!(window.left(ms(4_000)), 0);
        // There is no burst: no weight is free before the first grant has left the window.
        assert_eq!(now(&mut window, 4_000, 1), Err(ms(6_000)));
        assert_eq!(now(&mut window, 9_999, 7), Err(ms(4_001)));
        assert!(now(&mut window, 10_000, 6).is_ok());
        assert_eq!(window.left(ms(13_999)), 0);
        assert_eq!(window.left(ms(14_000)), 4);
    }

    #[test]
    fn a_short_wait_is_granted_in_order() {
        let mut window = Window::new(Rate::per(1, 1), 0);
        let wait = |window: &mut Window, at| {
            let granted = window.take(ms(at), 1, OWN, ms(5_000));
            granted.map(|granted| granted.wait)
        };
        assert_eq!(wait(&mut window, 0), Ok(ms(0)));
        assert_eq!(wait(&mut window, 500), Ok(ms(1_500)));
        assert_eq!(wait(&mut window, 500), Ok(ms(3_500)));
        assert_eq!(wait(&mut window, 500), Err(ms(5_500)));
        // Time that goes back frees nothing.
        assert_eq!(wait(&mut window, 0), Err(ms(5_500)));
    }

    #[test]
    fn newcomers_leave_the_reserved_part_to_others() {
        let mut window = Window::new(Rate::per(10, 9), 50);
        let take = |window: &mut Window, at, weight, caller| {
            let granted = window.take(ms(at), weight, caller, Duration::ZERO);
            granted.map(|granted| granted.wait)
        };
        assert_eq!(take(&mut window, 0, 3, OWN), Ok(ms(0)));
        assert_eq!(take(&mut window, 1_000, 5, Caller::Newcomer), Ok(ms(0)));
        // The refusal names the time at which the newcomers' own grant leaves the window.
        assert_eq!(
            take(&mut window, 2_000, 1, Caller::Newcomer),
            Err(ms(9_000))
        );
        assert_eq!(window.left(ms(2_000)), 2);
        assert_eq!(take(&mut window, 2_000, 2, OWN), Ok(ms(0)));
        // Nobody exceeds the whole.
        assert_eq!(take(&mut window, 2_000, 1, OWN), Err(ms(8_000)));
        assert_eq!(take(&mut window, 11_000, 5, Caller::Newcomer), Ok(ms(0)));
    }

    #[test]
    fn one_heavy_call_of_a_newcomer_passes_alone() {
        let mut window = Window::new(Rate::per(100, 9), 50);
        let mut take = |at| window.take(ms(at), 60, Caller::Newcomer, Duration::ZERO);
        assert!(take(0).is_ok());
        assert_eq!(take(1_000), Err(ms(9_000)));
        assert!(take(10_000).is_ok());
    }

    #[test]
    fn use_of_unknown_callers_counts_as_that_of_newcomers() {
        let mut window = Window::new(Rate::per(10, 9), 50);
        window.resume(ms(0), Duration::from_secs(1), 4);
        let mut take = |weight, caller| window.take(ms(0), weight, caller, Duration::ZERO);
        assert!(take(2, Caller::Newcomer).is_err());
        assert!(take(1, Caller::Newcomer).is_ok() && take(5, OWN).is_ok());
    }

    #[test]
    fn a_call_that_weighs_more_than_everything_is_never_granted() {
        let mut window = Window::new(Rate::per(10, 9), 0);
        assert_eq!(window.take(ms(0), 11, OWN, ms(u64::MAX)), Err(ms(10_000)));
        assert!(window.take(ms(0), 10, OWN, ms(0)).is_ok());
    }

    #[test]
    fn a_call_is_charged_its_real_weight() {
        let mut window = Window::new(Rate::per(200, 9), 0);
        let granted = window.take(ms(0), 120, OWN, ms(0)).unwrap();
        assert_eq!(window.left(ms(0)), 80);
        window.correct(granted.id, 21);
        assert_eq!(window.left(ms(0)), 179);
        // A grant that is long over does not count.
        assert_eq!(window.left(ms(10_000)), 200);
        window.correct(granted.id, 100);
        assert_eq!(window.left(ms(10_000)), 200);
    }

    #[test]
    fn the_upstreams_higher_count_wins() {
        let mut window = Window::new(Rate::per(70, 7_200), 0);
        let now = ms(0);
        window.reported(now, 3, Duration::from_secs(600));
        assert_eq!(window.left(now), 3);
        // A lower count is ignored.
        window.reported(now, 50, Duration::from_secs(600));
        assert_eq!(window.left(now), 3);
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(window.left(later(600)), 3);
        assert_eq!(window.left(later(602)), 70);
    }

    #[test]
    fn grants_of_an_earlier_process_count_until_they_leave_the_window() {
        let mut window = Window::new(Rate::per(10, 9), 0);
        let seconds = Duration::from_secs;
        window.resume(ms(0), seconds(4), 3);
        window.resume(ms(0), seconds(9), 2);
        window.resume(ms(0), seconds(10), 7);
        assert_eq!(window.left(ms(0)), 5);
        assert_eq!(window.left(ms(1_000)), 7);
        assert_eq!(window.left(ms(6_000)), 10);
    }

    proptest! {
        /// Any sequence of takes, every window: never more than the limit, for calls that arrive up
        /// to a second late.
        #[test]
        fn no_window_holds_more_than_the_limit(
            limit in 1_u32..60,
            seconds in 1_u32..8,
            reserved in 0_u8..=90,
            takes in prop::collection::vec(
                (0_u64..2_500, 0_u32..70, 0_u64..4_000, 0_u64..1_000, any::<bool>()), 1..120),
        ) {
            let mut window = Window::new(Rate::per(limit, seconds), reserved);
            let (mut now, mut arrivals) = (0, Vec::new());
            for (pause, weight, patience, delay, is_new) in takes {
                now += pause;
                let caller = if is_new { Caller::Newcomer } else { OWN };
                match window.take(ms(now), weight, caller, ms(patience)) {
                    Ok(granted) => {
                        prop_assert!(granted.wait <= ms(patience));
                        arrivals.push((ms(now) + granted.wait + ms(delay), weight, is_new));
                    }
                    // The refusal names a time at which the call is granted.
                    Err(wait) if weight <= limit => {
                        prop_assert!(wait > ms(patience));
                        now += u64::try_from(wait.as_millis()).unwrap();
                        let granted = window.take(ms(now), weight, caller, ms(0));
                        prop_assert!(granted.is_ok());
                        arrivals.push((ms(now) + ms(delay), weight, is_new));
                    }
                    Err(_) => {}
                }
            }
            let length = Duration::from_secs(u64::from(seconds));
            let common = limit - limit * u32::from(reserved) / 100;
            for (end, ..) in &arrivals {
                let inside = |at: &Duration| *at <= *end && *at + length > *end;
                let inside = arrivals.iter().filter(|(at, ..)| inside(at));
                let sum: u32 = inside.clone().map(|(_, weight, _)| weight).sum();
                prop_assert!(sum <= limit, "{sum} of {limit} in {length:?} until {end:?}");
                let new: Vec<u32> = inside.filter(|it| it.2 && it.1 > 0).map(|it| it.1).collect();
                let sum: u32 = new.iter().sum();
                prop_assert!(sum <= common || new.len() == 1, "{new:?} of {common} until {end:?}");
            }
        }

        /// Corrections downwards free weight, and never more than was charged.
        #[test]
        fn corrections_keep_the_window_exact(
            calls in prop::collection::vec((0_u64..3_000, 20_u32..120, 0_u32..120), 1..60),
        ) {
            let mut window = Window::new(Rate::per(300, 5), 0);
            let (mut now, mut made) = (0, Vec::new());
            for (pause, charged, less) in calls {
                now += pause;
                if let Ok(granted) = window.take(ms(now), charged, OWN, ms(0)) {
                    let weighed = charged - less.min(charged);
                    window.correct(granted.id, weighed);
                    made.push((now, weighed));
                }
                let since = |at: u64| at + 6_000 > now;
                let sum: u32 = made.iter().filter(|(at, _)| since(*at)).map(|(_, w)| w).sum();
                prop_assert_eq!(window.left(ms(now)), 300 - sum);
            }
        }
    }
}
