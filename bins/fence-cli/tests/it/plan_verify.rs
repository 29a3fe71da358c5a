//! `fence-cli plan verify` as people and scripts run it: the real binary over the vectors of
//! `fixtures/vectors/plans`.

mod accepted;
mod case;
mod files;
mod refused;
mod usage;
