//! Accounts that do not hold the receiving address on the destination chain.

use alloy_primitives::{Address, U256, address, hex};
use calldata_checks::bridge::{
    AccountKind,
    account::{AccountCode, DestinationControl, SafeReading, SafeReadings},
};

use crate::bridge::plan::{FOREIGN, Plan, refused};

const OTHER: Address = Address::repeat_byte(0x22);
const STRANGER: Address = Address::repeat_byte(0x33);

#[test]
fn a_contract_that_calls_itself_an_account_with_a_key() {
    let contract = AccountCode::of(&hex!("6080604052"));
    let with =
        |source_code| Plan::fast().reading(|c| c.control = DestinationControl::Eoa { source_code });
    let check = "bridge_recipient_controlled_on_destination";
    refused(&with(Some(contract)), check, "contract on the source chain");
    for code in [AccountCode::Empty, AccountCode::Delegated] {
        assert!(with(Some(code)).judge().is_ok());
    }
    // Nobody read the account: only an operator's permission gives a plan, and the plan says so.
    refused(&with(None), check, "was not read on the source chain");
    let allowed = with(None).reading(|c| c.allow_unread_accounts = true);
    let report = allowed.judge().unwrap();
    assert!(report.assertions().iter().all(|a| a.name != check));
    let [open] = report.not_established() else {
        panic!("one check has nothing to judge");
    };
    assert_eq!(open.name, check);
    assert!(open.observed.as_str().contains("not_read"));
}

#[test]
fn a_safe_whose_address_belongs_to_others_on_the_destination_chain() {
    let check = "bridge_recipient_controlled_on_destination";
    let source = SafeReading {
        code: AccountCode::of(&hex!("6080")),
        fallback_handler: Address::ZERO,
        guard: Address::ZERO,
        module_guard: Address::ZERO,
        modules: Vec::new(),
        owners: vec![FOREIGN, OTHER],
        singleton: address!("41675C099F32341bf84BFc5382aF534df5C7461a"),
        singleton_code: AccountCode::of(&hex!("6082")),
        threshold: U256::from(2),
        version: "1.4.1".to_owned(),
    };
    let safe = |destination| {
        let control = DestinationControl::Safe(Box::new(SafeReadings {
            source: source.clone(),
            destination,
        }));
        Plan::fast()
            .asking(|a| a.account_kind = AccountKind::Safe)
            .reading(|c| c.control = control)
    };
    assert!(safe(source.clone()).judge().is_ok());
    let undeployed = SafeReading {
        code: AccountCode::Empty,
        ..source.clone()
    };
    refused(&safe(undeployed), check, "no contract");
    let squatted = SafeReading {
        owners: vec![STRANGER, OTHER],
        ..source.clone()
    };
    refused(&safe(squatted), check, "other owners");
    let lowered = SafeReading {
        threshold: U256::from(1),
        ..source.clone()
    };
    refused(&safe(lowered), check, "another threshold");
    let upgraded = SafeReading {
        version: "1.3.0".to_owned(),
        ..source.clone()
    };
    refused(&safe(upgraded), check, "another version");
    let foreign = SafeReading {
        code: AccountCode::of(&hex!("6081")),
        ..source.clone()
    };
    refused(
        &safe(foreign),
        check,
        "has another contract on the destination",
    );
    let replaced = SafeReading {
        singleton_code: AccountCode::of(&hex!("6083")),
        ..source.clone()
    };
    refused(&safe(replaced), check, "runs other code");
    let opened = SafeReading {
        modules: vec![STRANGER],
        ..source.clone()
    };
    refused(&safe(opened), check, "other modules");
    let guarded = SafeReading {
        guard: STRANGER,
        ..source.clone()
    };
    refused(&safe(guarded), check, "another guard");
    let handled = SafeReading {
        fallback_handler: STRANGER,
        ..source.clone()
    };
    refused(&safe(handled), check, "another fallback handler");
    let crowded = SafeReading {
        owners: vec![FOREIGN; 65],
        ..source.clone()
    };
    refused(&safe(crowded), check, "too many owners");
    let unread = Plan::fast().asking(|a| a.account_kind = AccountKind::Safe);
    refused(&unread, check, "not read on the destination chain");
}
