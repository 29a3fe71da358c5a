//! Tests of ports that are chosen while the program runs.

use std::sync::Arc;

use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{
    Request, bridge, perp_order, pm_order,
    ports::{
        DynAccounts, DynBridgeFees, DynPerpVenue, DynPmVenue, DynSimulator, DynSwapQuotes,
        NoSimulator,
    },
    swap,
};

use crate::{
    embedding::{NOW, moment, policy, ready, vector},
    vectors::recorded::Recorded,
};

/// The ports that an embedder composes from its configuration.
struct Chosen {
    quotes: Box<dyn DynSwapQuotes>,
    fees: Box<dyn DynBridgeFees>,
    accounts: Arc<dyn DynAccounts>,
    market: Box<dyn DynPmVenue>,
    perpetuals: Box<dyn DynPerpVenue>,
    simulator: Arc<dyn DynSimulator>,
}

#[test]
fn trait_objects_give_the_plans_that_types_give() {
    let recorded = Recorded {
        read_at: UtcSeconds::from_unix(NOW),
    };
    let chosen = Chosen {
        quotes: Box::new(recorded),
        fees: Box::new(recorded),
        accounts: Arc::new(recorded),
        market: Box::new(recorded),
        perpetuals: Box::new(recorded),
        simulator: Arc::new(NoSimulator),
    };
    let (policy, moment) = (policy(), moment());
    for rail in Rail::ALL {
        let arguments = vector(&format!("{}.request.json", rail.as_str()));
        let (none, Chosen { simulator, .. }) = (&NoSimulator, &chosen);
        let [by_object, by_type] = match &Request::parse(rail, &arguments).unwrap() {
            Request::Swap(r) => [
                ready(swap::build(r, &chosen.quotes, simulator, &policy, &moment)),
                ready(swap::build(r, &recorded, none, &policy, &moment)),
            ],
            Request::Bridge(r) => {
                let (fees, accounts) = (&chosen.fees, &chosen.accounts);
                [
                    ready(bridge::build(
                        r, fees, accounts, simulator, &policy, &moment,
                    )),
                    ready(bridge::build(
                        r, &recorded, &recorded, none, &policy, &moment,
                    )),
                ]
            }
            Request::PmOrder(r) => [
                // A reference to the trait object is a port as well.
                ready(pm_order::build(r, &*chosen.market, &policy, &moment)),
                ready(pm_order::build(r, &recorded, &policy, &moment)),
            ],
            Request::PerpOrder(r) => [
                ready(perp_order::build(r, &chosen.perpetuals, &policy, &moment)),
                ready(perp_order::build(r, &&recorded, &policy, &moment)),
            ],
        };
        assert_eq!(by_object.unwrap(), by_type.unwrap(), "{}", rail.as_str());
    }
}
