//! The limits of an upstream that are known in advance, and the sources that share each of them.
//! [`Window`](super::window::Window) enforces them.

use std::num::NonZeroU32;

/// How much may be asked in any stretch of time of a given length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Weight of the calls together; a call weighs 1 unless its adapter says otherwise.
    pub weight: u32,
    /// Length of the window, in seconds.
    pub seconds: u32,
}

impl Rate {
    /// `weight` in any `seconds`.
    #[must_use]
    pub const fn per(weight: u32, seconds: u32) -> Self {
        Self { weight, seconds }
    }

    /// `weight` in any minute.
    #[must_use]
    pub const fn per_minute(weight: u32) -> Self {
        Self::per(weight, 60)
    }

    /// The share of one of `servers` servers behind the same address, at least 1.
    #[must_use]
    pub fn divided(self, servers: NonZeroU32) -> Self {
        Self {
            weight: (self.weight / servers).max(1),
            ..self
        }
    }
}

/// The sources that share the limits of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// One limit for everything.
    One(Rate),
    /// Each of the upstream's addresses has its own limit: they are different hosts.
    EachAddress(Rate),
    /// Groups of the upstream's sources; every source belongs to one of them.
    Groups(&'static [Family]),
}

/// Sources that share a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name within the upstream.
    pub name: &'static str,
    /// The ids of its sources.
    pub sources: &'static [&'static str],
    /// The limit of all of them together.
    pub rate: Rate,
}

impl Families {
    /// Limits of an upstream without a budget. A pause covers the whole upstream.
    pub const UNLIMITED: Self = Self::Groups(&[]);

    /// Each family: its name within the upstream, empty for the only one, and its rate. `addresses`
    /// are the keys of the upstream's addresses.
    pub fn each<'a>(
        &'a self,
        addresses: impl Iterator<Item = &'static str> + 'a,
    ) -> Box<dyn Iterator<Item = (&'static str, Rate)> + 'a> {
        match self {
            Self::One(rate) => Box::new(std::iter::once(("", *rate))),
            Self::EachAddress(rate) => Box::new(addresses.map(|address| (address, *rate))),
            Self::Groups(groups) => {
                Box::new(groups.iter().map(|family| (family.name, family.rate)))
            }
        }
    }

    /// The index in [`Self::each`] of the family of a source at the `address`-th address. A source
    /// that no group names belongs to the first one.
    pub(crate) fn of(&self, source: &str, address: usize) -> usize {
        match self {
            Self::One(_) => 0,
            Self::EachAddress(_) => address,
            Self::Groups(groups) => groups
                .iter()
                .position(|family| family.sources.contains(&source))
                .unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_found_by_source_and_address() {
        const GROUPS: Families = Families::Groups(&[
            Family {
                name: "market",
                sources: &["a.price"],
                rate: Rate::per_minute(6),
            },
            Family {
                name: "social",
                sources: &["a.news", "a.posts"],
                rate: Rate::per(3, 5),
            },
        ]);
        assert_eq!(GROUPS.of("a.posts", 0), 1);
        assert_eq!(GROUPS.of("a.unheard", 7), 0);
        let names: Vec<_> = GROUPS.each(std::iter::empty()).collect();
        assert_eq!(
            names,
            [("market", Rate::per(6, 60)), ("social", Rate::per(3, 5))]
        );
        let hosts = Families::EachAddress(Rate::per_minute(1));
        assert_eq!(
            (hosts.of("x", 2), hosts.each(["u", "v"].into_iter()).count()),
            (2, 2)
        );
        assert_eq!(Families::One(Rate::per_minute(1)).of("x", 2), 0);
    }

    /// A source that no group names would use up the first group's budget, whatever host it asks.
    #[test]
    fn every_source_of_a_grouped_upstream_is_in_one_group() {
        for spec in [
            &crate::okx::SPEC,
            crate::binance::Binance::SPEC,
            crate::okx_futures::OkxFutures::SPEC,
            crate::polymarket::Polymarket::SPEC,
        ] {
            let Families::Groups(groups) = spec.families else {
                panic!("{}", spec.name)
            };
            for source in spec.sources {
                let named = groups
                    .iter()
                    .filter(|family| family.sources.contains(source));
                assert_eq!(named.count(), 1, "{source}");
            }
            for source in groups.iter().flat_map(|family| family.sources) {
                assert!(
                    spec.sources.contains(source),
                    "{source} is none of {}",
                    spec.name
                );
            }
        }
    }

    #[test]
    fn servers_share_a_rate_and_each_has_some() {
        let servers = |count| NonZeroU32::new(count).unwrap();
        assert_eq!(Rate::per_minute(1100).divided(servers(3)).weight, 366);
        assert_eq!(Rate::per_minute(2).divided(servers(9)).weight, 1);
    }
}
