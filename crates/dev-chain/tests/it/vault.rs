//! The vault: correct after its set-up, and wrong in every way that its owner can choose.

use alloy_primitives::{Address, U256, fixed_bytes};
use alloy_sol_types::{SolCall, sol};
use dev_chain::{
    DevChain, MINTER, USDG, VaultSpec,
    abi::TokenVault::{self, *},
    xlayer::{STATA_USDG, VAULT_DEPOSIT, VAULT_YIELD},
};

use crate::{
    plan::{HOLDER, Step, approve, balance, refusal, selector_of, submit},
    support::NOW,
};

sol! {
    function transfer(address to, uint256 value) external returns (bool);
}

/// 105 USDG, which are 100 shares.
const ASSETS: u64 = 105_000_000;
const SHARES: u64 = 100_000_000;

fn stage() -> DevChain {
    let chain = DevChain::builder().xlayer_stage().clock(|| NOW);
    let chain = chain.build().unwrap();
    submit(&chain, HOLDER, &approve(USDG, STATA_USDG, u64::MAX));
    chain
}

fn view<C: SolCall>(chain: &DevChain, call: &C) -> C::Return {
    chain.view(STATA_USDG, call).unwrap()
}

fn set(chain: &DevChain, call: &impl SolCall) {
    chain.call_as(MINTER.address, STATA_USDG, call).unwrap();
}

fn deposit(assets: u64) -> depositCall {
    depositCall {
        assets: U256::from(assets),
        receiver: HOLDER.address,
    }
}

fn redeem(shares: u64) -> redeemCall {
    redeemCall {
        shares: U256::from(shares),
        receiver: HOLDER.address,
        owner: HOLDER.address,
    }
}

/// Calls as the account. Returns the changes of its shares and assets.
fn change(chain: &DevChain, call: &impl SolCall) -> (i128, i128) {
    let held = |token| i128::try_from(balance(chain, token, HOLDER.address)).unwrap();
    let before = (held(STATA_USDG), held(USDG));
    submit(chain, HOLDER, &Step::new(STATA_USDG, call));
    (held(STATA_USDG) - before.0, held(USDG) - before.1)
}

#[test]
fn the_interface_is_that_of_the_standard() {
    let check = |observed, expected| assert_eq!(observed, expected);
    check(selector_of::<depositCall>(), fixed_bytes!("6e553f65"));
    check(selector_of::<mintCall>(), fixed_bytes!("94bf804d"));
    check(selector_of::<withdrawCall>(), fixed_bytes!("b460af94"));
    check(selector_of::<redeemCall>(), fixed_bytes!("ba087652"));
    check(
        selector_of::<previewDepositCall>(),
        fixed_bytes!("ef8b30f7"),
    );
    check(selector_of::<previewRedeemCall>(), fixed_bytes!("4cdad506"));
    check(
        selector_of::<convertToAssetsCall>(),
        fixed_bytes!("07a2d13a"),
    );
    check(selector_of::<maxDepositCall>(), fixed_bytes!("402d267d"));
    check(selector_of::<maxWithdrawCall>(), fixed_bytes!("ce96cb77"));
    check(selector_of::<maxRedeemCall>(), fixed_bytes!("d905777e"));
    check(selector_of::<assetCall>(), fixed_bytes!("38d52e0f"));
}

#[test]
fn an_honest_vault_gives_what_it_previews() {
    let chain = stage();
    assert_eq!(view(&chain, &assetCall {}), USDG);
    assert_eq!(
        view(&chain, &totalAssetsCall {}),
        U256::from(VAULT_DEPOSIT + VAULT_YIELD)
    );
    let assets = U256::from(ASSETS);
    assert_eq!(
        view(&chain, &previewDepositCall { assets }),
        U256::from(SHARES)
    );
    let receiver = HOLDER.address;
    assert_eq!(view(&chain, &maxDepositCall { receiver }), U256::MAX);
    assert_eq!(
        change(&chain, &deposit(ASSETS)),
        (100_000_000, -105_000_000)
    );
    let owner = HOLDER.address;
    assert_eq!(view(&chain, &maxRedeemCall { owner }), U256::from(SHARES));
    assert_eq!(view(&chain, &maxWithdrawCall { owner }), assets);
    // Yield goes to the shares.
    let gift = transferCall {
        to: STATA_USDG,
        value: U256::from(VAULT_DEPOSIT),
    };
    chain
        .call_as(dev_chain::xlayer::DEX_ROUTER, USDG, &gift)
        .unwrap();
    let shares = U256::from(SHARES);
    let promised = view(&chain, &previewRedeemCall { shares });
    assert!(promised > assets);
    let (burned, received) = change(&chain, &redeem(SHARES));
    assert_eq!(
        (burned, received),
        (-100_000_000, i128::try_from(promised).unwrap())
    );
    // The calls for exact assets or shares move exactly that amount.
    assert_eq!(change(&chain, &deposit(ASSETS)).1, -105_000_000);
    let part = withdrawCall {
        assets: U256::from(7),
        receiver: owner,
        owner,
    };
    assert_eq!(change(&chain, &part).1, 7);
    let minted = TokenVault::mintCall {
        shares: U256::from(9),
        receiver: owner,
    };
    assert_eq!(change(&chain, &minted).0, 9);
    assert_eq!(
        refusal(&chain, STATA_USDG, &redeem(SHARES * 2)),
        "ERC4626: redeem more than max"
    );
}

#[test]
fn fees_are_part_of_the_preview() {
    let chain = stage();
    let fees = setFeesCall {
        onDeposit: U256::from(100),
        onWithdrawal: U256::from(50),
    };
    set(&chain, &fees);
    let assets = U256::from(ASSETS);
    let promised = view(&chain, &previewDepositCall { assets });
    assert!(promised < U256::from(SHARES));
    assert_eq!(
        view(&chain, &convertToSharesCall { assets }),
        U256::from(SHARES)
    );
    let (shares, _) = change(&chain, &deposit(ASSETS));
    assert_eq!(U256::try_from(shares).unwrap(), promised);
    let promised = view(&chain, &previewRedeemCall { shares: promised });
    let (_, received) = change(&chain, &redeem(u64::try_from(shares).unwrap()));
    assert_eq!(U256::try_from(received).unwrap(), promised);
    assert!(promised < assets * U256::from(99) / U256::from(100));
}

#[test]
fn a_lying_preview_promises_too_much() {
    let chain = stage();
    set(
        &chain,
        &setLieCall {
            basisPoints: U256::from(500),
        },
    );
    let assets = U256::from(ASSETS);
    assert_eq!(
        view(&chain, &previewDepositCall { assets }),
        U256::from(SHARES * 105 / 100)
    );
    assert_eq!(change(&chain, &deposit(ASSETS)).0, i128::from(SHARES));
    let shares = U256::from(SHARES);
    assert_eq!(
        view(&chain, &previewRedeemCall { shares }),
        U256::from(ASSETS * 105 / 100)
    );
    assert_eq!(change(&chain, &redeem(SHARES)).1, i128::from(ASSETS));
}

#[test]
fn a_cap_and_a_pause_show_in_the_limits() {
    let chain = stage();
    let receiver = HOLDER.address;
    set(
        &chain,
        &setCapCall {
            assets: U256::from(VAULT_DEPOSIT + VAULT_YIELD + ASSETS),
        },
    );
    assert_eq!(
        view(&chain, &maxDepositCall { receiver }),
        U256::from(ASSETS)
    );
    let said = refusal(&chain, STATA_USDG, &deposit(ASSETS + 1));
    assert_eq!(said, "ERC4626: deposit more than max");
    change(&chain, &deposit(ASSETS));
    assert_eq!(view(&chain, &maxDepositCall { receiver }), U256::ZERO);
    set(&chain, &setPausedCall { on: true });
    let owner = receiver;
    assert_eq!(view(&chain, &maxRedeemCall { owner }), U256::ZERO);
    assert_eq!(view(&chain, &maxWithdrawCall { owner }), U256::ZERO);
    assert_eq!(
        refusal(&chain, STATA_USDG, &redeem(1)),
        "ERC4626: redeem more than max"
    );
    set(&chain, &setPausedCall { on: false });
    change(&chain, &redeem(SHARES));
    assert!(
        chain
            .call_as(receiver, STATA_USDG, &setPausedCall { on: true })
            .is_err()
    );
}

/// The first depositor of an empty vault, who then donates much to it: other depositors get
/// nothing.
#[test]
fn a_donation_makes_small_deposits_worth_nothing() {
    let vault = Address::repeat_byte(0x46);
    let chain = DevChain::builder().xlayer_stage().clock(|| NOW);
    let chain = chain
        .vault(VaultSpec {
            address: vault,
            name: "Empty".to_owned(),
            symbol: "E".to_owned(),
            decimals: 6,
            asset: USDG,
        })
        .build()
        .unwrap();
    let as_account = |to: Address, call: &dyn Fn() -> Vec<u8>| {
        submit(
            &chain,
            HOLDER,
            &Step {
                to,
                data: call().into(),
            },
        );
    };
    as_account(USDG, &|| approve(USDG, vault, u64::MAX).data.to_vec());
    as_account(vault, &|| deposit(1).abi_encode());
    as_account(USDG, &|| {
        let value = U256::from(ASSETS);
        transferCall { to: vault, value }.abi_encode()
    });
    let assets = U256::from(ASSETS / 2);
    let promised = chain.view(vault, &previewDepositCall { assets }).unwrap();
    assert_eq!(promised, U256::ZERO);
    as_account(vault, &|| deposit(ASSETS / 2).abi_encode());
    assert_eq!(balance(&chain, vault, HOLDER.address), U256::ONE);
}
