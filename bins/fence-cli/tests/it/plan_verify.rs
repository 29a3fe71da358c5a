//! Tests of `fence-cli plan verify`. They run the real binary, as people and scripts do, on the
//! vectors of `fixtures/vectors/plans`.

mod accepted;
mod case;
mod files;
mod refused;
mod usage;
