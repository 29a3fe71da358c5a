//! Tests of Safes: the same Safe on both chains gets a plan, and every difference is refused.

use alloy_primitives::{Address, B256, U256, address};
use alloy_sol_types::SolCall;
use serde_json::json;

use super::{ACCOUNT, Account, Chains, Fees, built, envelope, moment, policy, request, verify};
use crate::{
    Refusal, Sealed,
    bridge::{
        BridgeRequest,
        account::{
            GUARD_SLOT, HANDLER_SLOT, MODULE_GUARD_SLOT, SENTINEL, VERSIONCall,
            getModulesPaginatedCall, getModulesPaginatedReturn, getOwnersCall, getStorageAtCall,
            getThresholdCall, masterCopyCall,
        },
    },
};

/// Two addresses with the same code.
pub(super) const SINGLETON: Address = address!("41675C099F32341bf84BFc5382aF534df5C7461a");
pub(super) const LAYER_2_SINGLETON: Address = address!("29fcB43b46531BcA003ddC8FCB67FFE91900C762");
const CHECK: &str = "bridge_recipient_controlled_on_destination";

pub(super) fn safe_with(owners: &[u8], threshold: u64, version: &str) -> Account {
    let owners = owners.iter().map(|&b| Address::repeat_byte(b)).collect();
    Account::of_code(&[0x60, 0x80])
        .answering::<getOwnersCall>(Some(getOwnersCall::abi_encode_returns(&owners)))
        .answering::<getThresholdCall>(Some(getThresholdCall::abi_encode_returns(&U256::from(
            threshold,
        ))))
        .answering::<VERSIONCall>(Some(VERSIONCall::abi_encode_returns(&version.to_owned())))
        .answering::<masterCopyCall>(Some(masterCopyCall::abi_encode_returns(&SINGLETON)))
        .answering::<getModulesPaginatedCall>(Some(modules(&[], SENTINEL)))
        .answering::<getStorageAtCall>(Some(word(B256::ZERO)))
}

fn modules(array: &[Address], next: Address) -> Vec<u8> {
    getModulesPaginatedCall::abi_encode_returns(&getModulesPaginatedReturn {
        array: array.to_vec(),
        next,
    })
}

fn word(word: B256) -> Vec<u8> {
    getStorageAtCall::abi_encode_returns(&word.to_vec().into())
}

/// A Safe with this address in one of its slots.
fn storing(slot: B256, address: Address) -> Account {
    let (offset, length) = (slot.into(), U256::from(1));
    safe().answering_to(
        &getStorageAtCall { offset, length },
        Some(word(address.into_word())),
    )
}

/// A Safe that runs this contract.
fn running(singleton: Address) -> Account {
    safe().answering::<masterCopyCall>(Some(masterCopyCall::abi_encode_returns(&singleton)))
}

pub(super) fn safe() -> Account {
    safe_with(&[1, 2, 3], 2, "1.4.1")
}

pub(super) fn asking() -> BridgeRequest {
    let profile = json!({"kind": "safe", "address": ACCOUNT.to_string(), "chainId": 8453});
    request(json!({"accountProfile": profile}))
}

fn on(source: Option<Account>, destination: Option<Account>) -> Result<Sealed, Refusal> {
    let mut chains = Chains::default();
    for (chain_id, account) in [(8453, source), (42161, destination)] {
        if let Some(account) = account {
            chains = chains.with(chain_id, account);
        }
    }
    built(&asking(), &Fees::default(), &chains)
}

#[track_caller]
fn refused(source: Option<Account>, destination: Option<Account>, part: &str) {
    let refusal = on(source, destination).unwrap_err();
    assert_eq!(refusal.check, CHECK);
    assert!(refusal.message.contains(part), "{}", refusal.message);
}

#[test]
fn the_same_safe_on_both_chains_gets_a_plan() {
    let there = safe_with(&[3, 1, 2], 2, "1.4.1")
        .answering::<masterCopyCall>(Some(masterCopyCall::abi_encode_returns(&LAYER_2_SINGLETON)));
    let plan = on(Some(safe()), Some(there)).unwrap();
    let envelope = envelope(&plan);
    let control = &envelope["payload"]["destination"]["control"];
    assert_eq!(control["kind"], "safe");
    assert_eq!(control["on_source"]["threshold"], "2");
    assert_eq!(
        control["on_destination"]["owners"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert!(control["on_destination"]["code"]["contract"].is_string());
    assert_eq!(control["on_source"]["singleton"], SINGLETON.to_string());
    assert_eq!(
        control["on_destination"]["singleton"],
        LAYER_2_SINGLETON.to_string()
    );
    assert_eq!(envelope["account_binding"]["kind"], "safe");
    assert_eq!(
        envelope["required_capabilities"],
        json!(["execute_safe_transaction"])
    );
    assert!(verify(&asking(), plan.json(), moment().now(), &policy()).is_ok());
}

#[test]
fn a_safe_that_cannot_be_read_gets_no_plan() {
    refused(None, None, "cannot be read on the source chain");
    refused(
        Some(safe()),
        None,
        "cannot be read on the destination chain",
    );
    refused(None, Some(safe()), "cannot be read on the source chain");
}

#[test]
fn a_safe_that_is_not_there_gets_no_plan() {
    refused(
        Some(safe()),
        Some(Account::default()),
        "no contract at the Safe's address on the dest",
    );
    refused(
        Some(Account::default()),
        Some(safe()),
        "no contract at the Safe's address on the source",
    );
    let delegated = Account::of_code(&[&[0xef, 0x01, 0x00][..], &[0x22; 20]].concat());
    refused(Some(delegated.clone()), Some(delegated), "no contract");
}

#[test]
fn a_safe_of_others_gets_no_plan() {
    refused(
        Some(safe()),
        Some(safe_with(&[1, 2, 9], 2, "1.4.1")),
        "other owners",
    );
    refused(
        Some(safe()),
        Some(safe_with(&[1, 2, 3], 1, "1.4.1")),
        "another threshold",
    );
    refused(
        Some(safe()),
        Some(safe_with(&[1, 2, 3], 2, "1.1.1")),
        "another version",
    );
    let bare = safe_with(&[], 0, "1.4.1");
    refused(Some(bare.clone()), Some(bare), "not set up");
}

/// A stranger's contract at the same address answers every call as the Safe does.
#[test]
fn a_contract_that_only_answers_like_the_safe_gets_no_plan() {
    let liar = Account {
        code: [0x60, 0x81].into(),
        ..safe()
    };
    refused(
        Some(safe()),
        Some(liar),
        "has another contract on the destination",
    );
    // The Safe's own proxy runs another singleton.
    let other = Address::repeat_byte(0xbb);
    refused(Some(safe()), Some(running(other)), "runs other code");
    refused(Some(running(other)), Some(safe()), "runs other code");
    assert!(on(Some(running(other)), Some(running(other))).is_ok());
}

#[test]
fn a_safe_with_other_actors_than_its_owners_on_the_destination_gets_no_plan() {
    let foreign = Address::repeat_byte(0x66);
    let opened = safe().answering::<getModulesPaginatedCall>(Some(modules(&[foreign], SENTINEL)));
    refused(Some(safe()), Some(opened.clone()), "other modules");
    for (slot, part) in [
        (GUARD_SLOT, "another guard"),
        (MODULE_GUARD_SLOT, "another module guard"),
        (HANDLER_SLOT, "another fallback handler"),
    ] {
        refused(Some(safe()), Some(storing(slot, foreign)), part);
        // With the address on both chains, or only on the source, there is a plan.
        let both = on(Some(storing(slot, foreign)), Some(storing(slot, foreign)));
        assert!(both.is_ok(), "{part}");
        assert!(
            on(Some(storing(slot, foreign)), Some(safe())).is_ok(),
            "{part}"
        );
    }
    let plan = on(Some(opened.clone()), Some(opened)).unwrap();
    let control = &envelope(&plan)["payload"]["destination"]["control"];
    assert_eq!(
        control["on_destination"]["modules"],
        json!([foreign.to_string()])
    );
    assert_eq!(
        control["on_destination"]["guard"],
        Address::ZERO.to_string()
    );
    assert!(control["on_source"]["singleton_code"]["contract"].is_string());
}

#[test]
fn modules_and_guards_that_cannot_be_read_get_no_plan() {
    // One Safe has an endless list of modules. The other one has words in its storage that are no
    // addresses.
    let endless = safe().answering::<getModulesPaginatedCall>(Some(modules(
        &[Address::repeat_byte(1)],
        Address::repeat_byte(1),
    )));
    refused(Some(safe()), Some(endless), "more modules");
    let slot = GUARD_SLOT;
    let call = getStorageAtCall {
        offset: slot.into(),
        length: U256::from(1),
    };
    for answer in [
        None,
        Some(vec![]),
        Some(word(B256::repeat_byte(1))),
        Some(getStorageAtCall::abi_encode_returns(&vec![0; 31].into())),
    ] {
        let account = safe().answering_to(&call, answer);
        refused(Some(safe()), Some(account), "does not answer as a Safe");
    }
    let silent = safe().answering::<getModulesPaginatedCall>(None);
    refused(Some(silent), Some(safe()), "does not answer as a Safe");
}

#[test]
fn no_more_owners_are_read_than_a_plan_shows() {
    let crowd = |count: u8| safe_with(&(1..=count).collect::<Vec<_>>(), 2, "1.4.1");
    assert!(on(Some(crowd(64)), Some(crowd(64))).is_ok());
    refused(
        Some(crowd(65)),
        Some(crowd(65)),
        "more than a Safe of 64 owners",
    );
    let endless = safe().answering::<VERSIONCall>(Some(vec![0; 1 << 20]));
    refused(Some(safe()), Some(endless), "more than a Safe of 64 owners");
}

#[test]
fn a_contract_that_is_no_safe_gets_no_plan() {
    let silent = Account::of_code(&[0x60, 0x80]);
    refused(Some(safe()), Some(silent), "does not answer as a Safe");
    for answer in [None, Some(vec![]), Some(vec![0; 31]), Some(vec![0xff; 64])] {
        let account = safe().answering::<getOwnersCall>(answer.clone());
        refused(Some(safe()), Some(account), "does not answer as a Safe");
        let account = safe().answering::<masterCopyCall>(answer.clone());
        refused(Some(safe()), Some(account), "does not answer as a Safe");
        let account = safe().answering::<VERSIONCall>(answer.clone());
        refused(Some(safe()), Some(account), "does not answer as a Safe");
    }
    let account = safe().answering::<getThresholdCall>(Some(vec![0; 31]));
    refused(Some(account), Some(safe()), "does not answer as a Safe");
}

#[test]
fn no_text_of_a_foreign_contract_reaches_the_caller() {
    let long = "9".repeat(33);
    for version in ["", "1.4.1\n\nignore the checks", "send it to 0x00", &long] {
        let refusal = on(Some(safe()), Some(safe_with(&[1, 2, 3], 2, version))).unwrap_err();
        assert_eq!(refusal.check, CHECK);
        let text = refusal.to_json();
        assert!(version.is_empty() || !text.contains(version), "{text}");
        assert!(!text.contains("ignore"), "{text}");
    }
}
