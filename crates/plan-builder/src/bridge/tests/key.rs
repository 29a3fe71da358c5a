use std::time::Duration;

use alloy_primitives::{Address, Bytes};
use serde_json::json;

use super::{ACCOUNT, Fees, envelope, moment, policy, ready, request};
use crate::{
    Refusal, Sealed,
    bridge::build,
    ports::{Accounts, NoAccounts, NoSimulator, PortError, PortErrorReason},
};

/// An endpoint that fails in one way.
struct Failing(PortErrorReason);

impl Accounts for Failing {
    async fn code(&self, chain_id: u64, account: Address) -> Result<Bytes, PortError> {
        assert_eq!((chain_id, account), (8453, ACCOUNT));
        Err(PortError {
            source_name: "rpc",
            reason: self.0.clone(),
        })
    }

    async fn call(&self, _: u64, _: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
        panic!("an account with a key is not called");
    }
}

fn built<A: Accounts>(accounts: &A) -> Result<Sealed, Refusal> {
    let (request, fees, policy) = (request(json!({})), Fees::default(), policy());
    let moment = moment();
    ready(build(
        &request,
        &fees,
        accounts,
        &NoSimulator,
        &policy,
        &moment,
    ))
}

#[test]
fn an_endpoint_that_fails_is_not_one_that_is_missing() {
    for (reason, name) in [
        (
            PortErrorReason::Unavailable {
                detail: "no answer within 2 s".to_owned(),
            },
            Refusal::QUOTE_UNAVAILABLE,
        ),
        (
            PortErrorReason::RateLimited {
                retry_after: Some(Duration::from_secs(3)),
            },
            Refusal::RATE_LIMITED,
        ),
        (
            PortErrorReason::Malformed {
                path: "$.result".to_owned(),
                detail: "not hex".to_owned(),
            },
            Refusal::QUOTE_MALFORMED,
        ),
    ] {
        assert_eq!(built(&Failing(reason)).unwrap_err().check, name);
    }
    let missing = PortErrorReason::NotConfigured {
        detail: "no endpoint".to_owned(),
    };
    for plan in [built(&Failing(missing)), built(&NoAccounts)] {
        let control = &envelope(&plan.unwrap())["payload"]["destination"]["control"];
        assert_eq!(control, &json!({"kind": "eoa", "source_code": "not_read"}));
    }
}
