//! Reading a list of reviewed targets.

use super::*;

#[test]
fn a_file_is_read_whole() {
    let policy = policy();
    assert_eq!(
        (policy.version(), policy.targets().count()),
        ("2026-11-25", 7)
    );
    let vault = policy.targets().find(|target| target.contract() == VAULT);
    let vault = vault.unwrap();
    assert_eq!((vault.chain_id(), vault.description()), (8453, "vault"));
    assert_eq!(vault.selectors().count(), 4);
    let expected = Vault {
        product_id: "7".to_owned(),
        protocol: "erc4626".to_owned(),
        asset: USDC,
    };
    assert_eq!(vault.vaults(), [expected]);
    // The same contract on another chain is another target.
    let twice = FILE.to_owned()
        + &FILE
            .replace("version = \"2026-11-25\"", "")
            .replace("product_id = \"7\"", "product_id = \"8\"")
            .replace("8453", "196");
    assert_eq!(SigningPolicy::parse(&twice).unwrap().targets().count(), 14);
    let empty = SigningPolicy::parse("version = '1'").unwrap();
    assert_eq!(empty.targets().count(), 0);
}

#[test]
fn a_contract_in_two_lists_is_reviewed_for_both() {
    let target = |selectors: &[&str]| {
        let selectors = selectors.iter().map(|text| text.parse().unwrap());
        Target::new(8453, ROUTER, selectors, "router").unwrap()
    };
    let both = policy().with(target(&["0x4666fc80"]));
    let expected = target(&["0x5fd9ae2e", "0x4666fc80"]);
    assert_eq!(both.targets().count(), 7);
    assert!(both.targets().any(|target| *target == expected));
    let proxy = policy().with(Target::spender(196, PROXY, "proxy").unwrap());
    assert_eq!(proxy.targets().count(), 8);
}

#[test]
fn every_fault_of_a_file_is_provoked_and_its_name_is_stable() {
    let file = |from: &str, to: &str| {
        assert!(FILE.contains(from), "{from}");
        SigningPolicy::parse(&FILE.replacen(from, to, 1)).unwrap_err()
    };
    let usdc = "contract = \"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913\"";
    let faults = [
        file("version =", "versoin ="),
        file("\"2026-11-25\"", "\" \""),
        file("chain_id = 8453", "chain_id = 0"),
        file(
            usdc,
            "contract = \"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914\"",
        ),
        file(usdc, &format!("contract = \"{}\"", Address::ZERO)),
        file("\"0xa9059cbb\"", "\"0xa9059cbbff\""),
        file(
            "\"0x4200000000000000000000000000000000000006\"",
            &format!("\"{USDC}\""),
        ),
        file("\"0xa9059cbb\"", "\"0x095ea7b3\""),
        file("[\"0x5fd9ae2e\"]", "[]"),
        file("\"0xa9059cbb\"", "\"0x23b872dd\""),
        file(
            "spender_only = true",
            "spender_only = true\nselectors = [\"0x5fd9ae2e\"]",
        ),
        file("what = \"WETH\"", "what = \"\""),
        file("protocol = \"erc4626\"\n", ""),
        file(
            "what = \"pool\"",
            &format!(
                "what = \"pool\"\nproduct_id = \"7\"\nprotocol = \"aave-v3\"\nasset = \"{USDC}\""
            ),
        ),
    ];
    let places = faults.iter().map(|fault| match fault {
        TargetsFault::Malformed { .. } => 0,
        TargetsFault::VersionEmpty => 1,
        TargetsFault::ChainZero { .. } => 2,
        TargetsFault::Address { .. } => 3,
        TargetsFault::AddressZero { .. } => 4,
        TargetsFault::SelectorMalformed { .. } => 5,
        TargetsFault::Duplicate { .. } => 6,
        TargetsFault::SelectorDuplicate { .. } => 7,
        TargetsFault::SelectorsEmpty { .. } => 8,
        TargetsFault::SelectorNever { .. } => 9,
        TargetsFault::SpenderCalled { .. } => 10,
        TargetsFault::WhatEmpty { .. } => 11,
        TargetsFault::VaultIncomplete { .. } => 12,
        TargetsFault::DuplicateProduct { .. } => 13,
    });
    assert!(places.eq(0..14));
    let named = faults.iter().map(|it| format!("{}: {it}", it.code()));
    insta::assert_snapshot!(named.collect::<Vec<_>>().join("\n"), @r"
    wallet_targets_malformed: unknown field `versoin`, expected `version` or `targets`
    wallet_targets_version_empty: version: expected a text that names the list, observed none
    wallet_targets_chain_zero: targets[0].chain_id: expected a chain id, observed 0
    wallet_targets_address: targets[0].contract: expected 0x833589fcD6EdB6e08f4C7C32d4F71b54BdA02914 if its digits are right, observed 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914, whose checksum (EIP-55) does not hold
    wallet_targets_address_zero: targets[0].contract: expected a contract, observed the zero address
    wallet_targets_selector_malformed: targets[0].selectors: expected 0x and 8 hexadecimal digits, observed another text of 12 characters
    wallet_targets_duplicate: targets: expected 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 of chain 8453 once, observed it twice
    wallet_targets_selector_duplicate: selectors of 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913: expected 0x095ea7b3 once, observed it twice
    wallet_targets_selectors_empty: selectors of 0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE: expected at least one, or spender_only = true, observed none
    wallet_targets_selector_never: selectors of 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913: transferFrom (0x23b872dd) cannot be reviewed: its arguments give tokens away unjudged
    wallet_targets_spender_called: selectors of 0x8b773D83bc66Be128c60e07E17C8901f7a64F000: expected none beside spender_only = true, observed 1
    wallet_targets_what_empty: what of 0x4200000000000000000000000000000000000006: expected a description of the contract, observed an empty text
    wallet_targets_vault_incomplete: protocol of 0x1111111111111111111111111111111111111111: a vault has product_id, protocol and asset, observed some of them
    wallet_targets_duplicate_product: targets: expected the product 7 once, observed it of two contracts
    ");
}

#[test]
fn a_pool_is_one_product_for_each_asset() {
    let pool = |product_id: &str, asset: Address| {
        format!(
            "[[targets]]\nchain_id = 8453\ncontract = \"{POOL}\"\nselectors = [\"0x617ba037\"]\nwhat = \"pool\"\n\
             product_id = \"{product_id}\"\nprotocol = \"aave-v3\"\nasset = \"{asset}\"\n"
        )
    };
    let file =
        |rows: [String; 2]| SigningPolicy::parse(&format!("version = \"1\"\n{}", rows.concat()));
    let policy = file([pool("1", USDC), pool("2", WETH)]).unwrap();
    let [target] = policy.targets().collect::<Vec<_>>()[..] else {
        panic!("one target");
    };
    let assets: Vec<_> = target.vaults().iter().map(|vault| vault.asset).collect();
    assert_eq!(assets, [USDC, WETH]);
    let twice = file([pool("1", USDC), pool("1", WETH)]).unwrap_err();
    assert_eq!(twice.code(), "wallet_targets_duplicate");
}

#[test]
fn other_mistakes_of_a_file_are_named() {
    for (from, to, code) in [
        (
            "what = \"WETH\"",
            "whatt = \"WETH\"",
            "wallet_targets_malformed",
        ),
        ("what = \"WETH\"", "", "wallet_targets_malformed"),
        ("version = \"2026-11-25\"", "", "wallet_targets_malformed"),
        ("[[targets]]", "[[target]]", "wallet_targets_malformed"),
        (
            "chain_id = 8453",
            "chain_id = -1",
            "wallet_targets_malformed",
        ),
        (
            "chain_id = 8453",
            "chain_id = \"8453\"",
            "wallet_targets_malformed",
        ),
        (
            "selectors = [\"0x5fd9ae2e\"]",
            "",
            "wallet_targets_selectors_empty",
        ),
        (
            "\"0xa9059cbb\"",
            "\"a9059cbb\"",
            "wallet_targets_selector_malformed",
        ),
        (
            "\"0xa9059cbb\"",
            "\"0x0xa9059cbb\"",
            "wallet_targets_selector_malformed",
        ),
        (
            "\"0xa9059cbb\"",
            "\"0x0xa905\"",
            "wallet_targets_selector_malformed",
        ),
        (
            "\"0xa9059cbb\"",
            "\"transfer\"",
            "wallet_targets_selector_malformed",
        ),
        (
            "\"0xa9059cbb\"",
            "\"0x39509351\"",
            "wallet_targets_selector_never",
        ),
        (
            "\"0xa9059cbb\"",
            "\"0x095EA7B3\"",
            "wallet_targets_selector_duplicate",
        ),
        (
            "product_id = \"7\"",
            "product_id = \"\"",
            "wallet_targets_vault_incomplete",
        ),
        ("asset = \"0x83", "asset = \"0x84", "wallet_targets_address"),
        (
            "asset = \"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913\"",
            "",
            "wallet_targets_vault_incomplete",
        ),
    ] {
        assert!(FILE.contains(from), "{from}");
        let fault = SigningPolicy::parse(&FILE.replacen(from, to, 1)).unwrap_err();
        assert_eq!(fault.code(), code, "{to}: {fault}");
    }
}
