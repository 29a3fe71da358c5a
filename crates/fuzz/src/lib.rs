//! Shared material of the targets: the recorded plans, their requests and their fee configuration.

use std::sync::LazyLock;

use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{FeeDocument, Policy, Request};
use serde_json::Value;

/// The plan of one rail in `fixtures/vectors/plans`.
#[derive(Debug)]
pub struct Recorded {
    /// The request that the plan answers.
    pub request: Request,
    /// Its text.
    pub plan: &'static str,
    /// A time at which the plan is current.
    pub now: UtcSeconds,
}

/// The recorded plans, in the order of [`Rail::ALL`].
pub static RECORDED: LazyLock<Vec<Recorded>> = LazyLock::new(|| {
    let index: Value =
        serde_json::from_str(include_str!("../../../fixtures/vectors/plans/index.json")).unwrap();
    let at = |rail: Rail| {
        let rows = index.as_array().unwrap();
        let row = rows
            .iter()
            .find(|row| row["rail"] == rail.as_str())
            .unwrap();
        row["verified_at"].as_str().unwrap().parse().unwrap()
    };
    Rail::ALL
        .into_iter()
        .map(|rail| {
            let (request, plan) = texts(rail);
            Recorded {
                request: Request::parse(rail, request).unwrap(),
                plan,
                now: at(rail),
            }
        })
        .collect()
});

/// The fee configuration of the recorded plans.
pub static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let document: FeeDocument =
        toml::from_str(include_str!("../../../fixtures/vectors/plans/fees.toml")).unwrap();
    Policy::new(document.review().unwrap())
});

fn texts(rail: Rail) -> (&'static str, &'static str) {
    macro_rules! recorded {
        ($name:literal) => {
            (
                include_str!(concat!(
                    "../../../fixtures/vectors/plans/",
                    $name,
                    ".request.json"
                )),
                include_str!(concat!(
                    "../../../fixtures/vectors/plans/",
                    $name,
                    ".plan.json"
                )),
            )
        };
    }
    match rail {
        Rail::Swap => recorded!("swap"),
        Rail::Bridge => recorded!("bridge"),
        Rail::PmOrder => recorded!("pm_order"),
        Rail::PerpOrder => recorded!("perp_order"),
    }
}
