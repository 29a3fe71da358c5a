//! Tests of accounts with a key: with an endpoint, without one, and with one that fails.

use std::time::Duration;

use alloy_primitives::{Address, Bytes};
use serde_json::json;

use calldata_checks::bridge::chains::TOKEN_MESSENGER;

use super::{ACCOUNT, Fees, envelope, moment, policy, ready, request, strict_policy, verify};
use crate::{
    Policy, Refusal, Sealed,
    bridge::build,
    ports::{Accounts, NoAccounts, NoSimulator, PortError, PortErrorReason},
};

/// An endpoint that fails for this reason.
struct Failing(PortErrorReason);

impl Accounts for Failing {
    async fn code(&self, chain_id: u64, account: Address) -> Result<Bytes, PortError> {
        assert_eq!((chain_id, account), (8453, ACCOUNT));
        Err(PortError {
            source_name: "rpc".into(),
            reason: self.0.clone(),
        })
    }

    async fn call(&self, _: u64, to: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
        assert_eq!(to, TOKEN_MESSENGER, "an account with a key is not called");
        Err(PortError {
            source_name: "rpc".into(),
            reason: self.0.clone(),
        })
    }
}

fn built<A: Accounts>(accounts: &A) -> Result<Sealed, Refusal> {
    built_with(accounts, &policy())
}

fn built_with<A: Accounts>(accounts: &A, policy: &Policy) -> Result<Sealed, Refusal> {
    let (request, fees) = (request(json!({})), Fees::default());
    let moment = moment();
    ready(build(
        &request,
        &fees,
        accounts,
        &NoSimulator,
        policy,
        &moment,
    ))
}

#[test]
fn an_endpoint_that_fails_differs_from_a_missing_one() {
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
    for plan in [built(&Failing(missing.clone())), built(&NoAccounts)] {
        let control = &envelope(&plan.unwrap())["payload"]["destination"]["control"];
        assert_eq!(control, &json!({"kind": "eoa", "source_code": "not_read"}));
    }
    // It was not read whether the account is a contract, so a plan needs the operator's permission.
    let strict = strict_policy();
    for refused in [
        built_with(&Failing(missing), &strict),
        built_with(&NoAccounts, &strict),
    ] {
        let refusal = refused.unwrap_err();
        assert_eq!(refusal.check, "bridge_recipient_controlled_on_destination");
        assert!(refusal.message.contains("not read on the source chain"));
    }
}

/// Each recipient of a plan applies its own policy.
#[test]
fn a_plan_for_an_unread_account_verifies_only_where_that_is_allowed() {
    let plan = built(&NoAccounts).unwrap();
    let request = request(json!({}));
    let verified = |policy| verify(&request, plan.json(), moment().now(), &policy);
    assert!(verified(policy()).is_ok());
    let refusal = verified(strict_policy()).unwrap_err();
    assert_eq!(refusal.check, "bridge_recipient_controlled_on_destination");
}
