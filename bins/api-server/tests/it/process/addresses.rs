//! Tests of mistyped addresses: the server refuses them, so none sends money away. The operator
//! sees the payees.

use dev_chain::DEV_ACCOUNTS;

use crate::process::config::{PAYEE, assert_refused, run_on};

/// An address with a valid checksum, from EIP-55.
const GOOD: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
/// The same address with another last digit, so the checksum is wrong.
const SLIP: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee";
const FACILITATOR: &str = "settlement.facilitator_url = 'http://127.0.0.1:9'\n";

fn paid_to(payee: &str) -> String {
    format!("payment.pay_to = '{payee}'\n{FACILITATOR}")
}

#[test]
fn one_wrong_digit_of_the_payee_is_found() {
    let observed = format!("observed {SLIP}");
    let says = ["payment.pay_to: expected 0x", observed.as_str(), "EIP-55"];
    assert_refused(&paid_to(SLIP), &[], &says);
    // The address in the environment is checked as well.
    let over = [("SVC__PAYMENT__PAY_TO", SLIP)];
    assert_refused(&paid_to(GOOD), &over, &says);
}

#[test]
fn a_key_in_the_place_of_an_address_is_not_repeated() {
    // The harness refuses output that contains this key.
    let key = format!("{:x}", dev_chain::GAS_PAYER.key);
    for key in [key.clone(), format!("0x{key}")] {
        assert_refused(&paid_to(&key), &[], &["payment.pay_to: expected 0x and 40"]);
    }
}

#[test]
fn accounts_that_everybody_owns_are_not_paid() {
    for account in DEV_ACCOUNTS {
        let address = account.address.to_string();
        for spelling in [address.clone(), address.to_lowercase()] {
            let says = ["payment.pay_to: ", &address, "local test chains"];
            assert_refused(&paid_to(&spelling), &[], &says);
        }
    }
    let placeholder = exact::address::PLACEHOLDER;
    let says = ["payment.pay_to: expected an address of your own"];
    assert_refused(&paid_to(placeholder), &[], &says);
}

#[test]
fn one_wrong_digit_of_an_asset_is_found_with_everything_else() {
    let assets = "[[payment.assets]]\naddress = '0x779Ded0c9e1022225f8E0630b35a9b54bE713736'\n\
                  name = 'a'\nversion = '1'\n\
                  [[payment.assets]]\naddress = '0xB6CEceAB302E2E4948951eE7843FC24E92933062'\n\
                  name = 'b'\nversion = '1'\n\
                  [[payment.assets]]\naddress = '0x0000000000000000000000000000000000000000'\n\
                  name = 'c'\nversion = '1'\n";
    assert_refused(
        &format!("{}{assets}", paid_to(SLIP)),
        &[],
        &[
            "payment.pay_to: expected 0x",
            "payment.assets[1].address: expected 0x",
            "payment.assets[2]: expected an address",
        ],
    );
}

/// A mistyped address in the operator's file of reviewed contracts would approve an unknown
/// contract.
#[test]
fn one_wrong_digit_of_a_reviewed_contract_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.toml");
    let example = include_str!("../../../../../docs/okx-contracts.example.toml");
    let config = format!(
        "{}[upstreams.okx]\nreviewed = '{}'\n",
        paid_to(GOOD),
        path.display()
    );
    for (kind, right) in [
        ("router", "0x7c5bEE2a8091C3ef39072f64F18Fac913060AEaF"),
        ("spender", "0x8b773D83bc66Be128c60e07E17C8901f7a64F000"),
        ("source token", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"),
    ] {
        assert!(example.contains(right), "{kind}");
        let wrong = format!("{}9", &right[..41]);
        std::fs::write(&path, example.replace(right, &wrong)).unwrap();
        let observed = format!("observed {wrong}");
        let says = ["upstreams.okx.reviewed: ", observed.as_str(), "EIP-55"];
        assert_refused(&config, &[], &says);
    }
}

/// A mistyped address in the list of wallets' targets would let a key sign for an unknown contract.
#[test]
fn a_list_of_wallet_targets_is_used_whole_or_not_at_all() {
    let example = include_str!("../../../../../docs/wallet-targets.example.toml");
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("targets.toml");
    let config = format!(
        "{}[wallets]\nreviewed = '{}'\n",
        paid_to(GOOD),
        list.display()
    );
    assert_refused(&config, &[], &["wallets.reviewed: cannot read "]);
    for (from, to, says) in [
        ("bdA02913", "bdA02914", "EIP-55"),
        ("0x8e0250ee", "0x23b872dd", "transferFrom"),
        ("selectors", "selector", "unknown field `selector`"),
        ("\"2026-11-25\"", "\"\"", "version: expected a text"),
    ] {
        assert!(example.contains(from), "{from}");
        std::fs::write(&list, example.replace(from, to)).unwrap();
        assert_refused(
            &config,
            &[],
            &["wallets.reviewed: ", "targets.toml: ", says],
        );
    }
    // A relative path starts at the configuration's folder.
    std::fs::write(&list, example).unwrap();
    let path = folder.path().join("api.toml");
    let file = format!("{}[wallets]\nreviewed = 'targets.toml'\n", paid_to(GOOD));
    std::fs::write(&path, file).unwrap();
    let output = run_on("check-config", &path, &[]);
    let printed = output.stdout;
    let counted = "  targets      reviewed contracts (2026-11-25): \
                   4 of chain 137, 9 of chain 196, 5 of chain 8453, 5 of chain 42161\n";
    assert!(printed.contains(counted), "{printed}");
}

#[test]
fn the_payees_and_amounts_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    let check = |file: &str, environment: &[(&str, &str)]| {
        std::fs::write(&path, file).unwrap();
        run_on("check-config", &path, environment)
            .ok()
            .stdout
            .clone()
    };
    let printed = check(&format!("{PAYEE}{FACILITATOR}"), &[]);
    // The later lines are about upstreams and routes.
    let paid: Vec<_> = printed.lines().take(7).collect();
    insta::assert_snapshot!(paid.join("\n"), @r#"
    the configuration can be used: listening on 127.0.0.1:8402, paid to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed, settled by facilitator, ledger sqlite://data/service.db
      payee        0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
      asset        0x779Ded0c9e1022225f8E0630b35a9b54bE713736, name "USD₮0", version "1"
      asset        0xB6CEceAB302E2E4948951eE7843FC24E92933061, name "USD Coin", version "2"
      asset        0x4ae46a509F6b1D9056937BA4500cb143933D2dc8, name "Global Dollar", version "1"
      prices       0.001 to 0.15 USD a call, 45 operations
      settlement   facilitator
    "#);

    let gas = [
        (
            "SVC__SETTLEMENT__PRIVATE_KEY",
            &*dev_chain::GAS_PAYER.key.to_string(),
        ),
        ("SVC__SETTLEMENT__RPC_URL", "http://127.0.0.1:9/SECRET"),
    ];
    let onchain = check(&format!("{PAYEE}settlement.mode = 'onchain'\n"), &gas);
    let account = dev_chain::GAS_PAYER.address;
    assert!(
        onchain.contains(&format!("gas account  {account}\n")),
        "{onchain}"
    );
    assert!(!onchain.contains("SECRET"), "{onchain}");
}
