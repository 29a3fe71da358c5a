//! Tests of the plans for swaps and bridges of wallets, from recordings.

use alloy_primitives::{Address, B256, Bytes, U256, address};
use alloy_sol_types::{SolCall, sol};
use api_server::config::{Config, CustodySection};
use api_server::{
    NativePrices, PaidByOwners, Sources, WalletPlans, recorded_clock, replay_upstreams,
};
use calldata_checks::bridge::calldata::Burn as BurnCall;
use calldata_checks::bridge::chains::{MESSAGE_TRANSMITTER, TOKEN_MESSENGER};
use custody::Owner;
use dev_chain::{DevChain, RpcServer};
use gas_funding::{CoinPrices as _, PaidTotals as _};
use ledger::{AnyLedger, Options, SqliteLedger};
use replay::{Recordings, ReplayServer};
use tempfile::TempDir;
use wallet_actions::{BridgeAsk, Burn, PlanCause, Plans as _, StepKind, SwapAsk};

use crate::support::weakly_stretched;
use crate::wallets::between::Liar;

const WALLET: Address = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");
const BASE_USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
const BASE_WETH: Address = address!("4200000000000000000000000000000000000006");
const ROUTER: Address = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");
const WOKB: Address = address!("e538905cf8410324e03A5A23C1c177a474D59b2b");

const FEES: &str = r#"
version = "2026-11-01"
fee_model = "B/forwarder-v2"
integrator = "svc"
aggregate_cap_bps = 60
rounding = "floor"
[[recipients]]
role = "own"
address = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
bps = 30
[[recipients]]
role = "aggregator"
address = "0xC06ebbefD94032B85424D51906e2A335EFAe264B"
bps = 25
[[chains]]
chain_id = 8453
router = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
forwarder = "0xCE40449B773a3E6E5e769ADb4e567179d4828cbd"
selectors = ["0x5fd9ae2e"]
legs = [{ contract = "0xAC4c6e212A361c968F1725b4d055b47E63F80b75", selectors = ["0x5f3bd1c8"] }]
"#;

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
}

struct Stage {
    plans: WalletPlans,
    sources: Sources,
    _replay: ReplayServer,
    _node: RpcServer,
    _folder: TempDir,
}

/// Upstreams from recordings, and an embedded Base. `change` changes the configuration last.
async fn stage(scenario: Option<&str>, change: impl FnOnce(&mut Config)) -> Stage {
    let mut recordings = Recordings::embedded().unwrap();
    if let Some(scenario) = scenario {
        recordings = recordings.with_scenario(scenario);
    }
    let replay = ReplayServer::start(recordings).await.unwrap();
    let base = DevChain::with_base_stage().unwrap();
    let node = base.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let fees = folder.path().join("fees.toml");
    std::fs::write(&fees, FEES).unwrap();

    let mut config = Config::default();
    replay_upstreams(&mut config, &replay.url());
    let table = config.chains.0.entry("8453".to_owned()).or_default();
    table.rpc_urls = vec![node.url()];
    config.custody = Some(weakly_stretched(
        folder.path().join("wallets"),
        "the operator's secret",
    ));
    let fees = fees.to_string_lossy().into_owned();
    config.plans.insert("fee_config".to_owned(), fees.into());
    // The recorded routers are not on the embedded chain.
    config
        .plans
        .insert("simulation".to_owned(), "off".to_owned().into());
    change(&mut config);
    let sources = Sources::connect(&config, recorded_clock()).unwrap();
    Stage {
        plans: WalletPlans::new(&config, &sources).unwrap(),
        sources,
        _replay: replay,
        _node: node,
        _folder: folder,
    }
}

fn swap(chain_id: u64) -> SwapAsk {
    SwapAsk {
        chain_id,
        wallet: WALLET,
        from_token: BASE_USDC,
        to_token: BASE_WETH,
        amount: "1000.000007".to_owned(),
        atoms: U256::from(1_000_000_007_u64),
        slippage_pct: "0.5".to_owned(),
        slippage_bps: 50,
        from_decimals: 6,
        to_decimals: 18,
        max_price_impact_bps: None,
    }
}

fn home_swap() -> SwapAsk {
    SwapAsk {
        from_token: USDT0,
        to_token: WOKB,
        amount: "25.5".to_owned(),
        atoms: U256::from(25_500_000_u64),
        ..swap(196)
    }
}

fn bridge() -> BridgeAsk {
    BridgeAsk {
        from_chain: 8453,
        to_chain: 42161,
        wallet: WALLET,
        recipient: WALLET,
        token: BASE_USDC,
        atoms: U256::from(25_000_000_u64),
    }
}

/// Asserts that the steps are a reset of the allowance, an approval of exactly `atoms`, and a call,
/// in this order.
#[track_caller]
fn approves(steps: &[wallet_actions::PlannedStep], token: Address, spender: Address, atoms: U256) {
    let kinds: Vec<_> = steps.iter().map(|step| step.kind).collect();
    assert_eq!(
        kinds,
        [StepKind::ApproveReset, StepKind::Approve, StepKind::Call]
    );
    for (step, amount) in steps.iter().zip([U256::ZERO, atoms]) {
        assert_eq!(step.to, token);
        let expected: Bytes = approveCall { spender, amount }.abi_encode().into();
        assert_eq!(step.input, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_through_the_router_is_that_of_a_verified_plan() {
    let stage = stage(None, |_| {}).await;
    let plan = stage.plans.swap(swap(8453)).await.unwrap();
    approves(&plan.steps, BASE_USDC, ROUTER, swap(8453).atoms);
    assert_eq!((plan.spender, plan.steps[2].to), (ROUTER, ROUTER));
    assert!(plan.at_least < plan.quoted && !plan.at_least.is_zero());
    // The requested slippage bounds the least output.
    let least = plan.quoted * U256::from(9_950) / U256::from(10_000);
    assert!(plan.at_least >= least, "{plan:?}");
    assert!(
        plan.valid_until > replay::RECORDED_AT && plan.valid_until <= replay::RECORDED_AT + 600
    );
    let evidence = &plan.evidence;
    assert_eq!(evidence["rail"], "swap");
    assert_eq!(evidence["payload_digest"].as_str().unwrap().len(), 66);
    let artifact = evidence["artifact_id"].as_str().unwrap();
    assert!(artifact.starts_with("swap-"), "{artifact}");
    let checks = evidence["checks"].as_array().unwrap();
    assert!(
        checks.contains(&"agg_receiver_account_bound".into()),
        "{evidence}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_or_missing_quote_gives_no_plan_and_keeps_its_name() {
    for (scenario, cause, check) in [
        (
            "lifi_receiver_changed",
            PlanCause::Refused,
            "agg_receiver_account_bound",
        ),
        (
            "lifi_gateway_page",
            PlanCause::Unavailable,
            "quote_malformed",
        ),
        ("lifi_rate_limited", PlanCause::Unavailable, "rate_limited"),
    ] {
        let stage = stage(Some(scenario), |_| {}).await;
        let refused = stage.plans.swap(swap(8453)).await.unwrap_err();
        assert_eq!((refused.cause, refused.check.as_str()), (cause, check));
    }
    let stage = stage(None, |_| {}).await;
    // This chain is not reviewed.
    let refused = stage.plans.swap(swap(10)).await.unwrap_err();
    let found = (refused.cause, refused.check.as_str());
    assert_eq!(found, (PlanCause::NoRoute, "chain_unsupported"));
}

/// What the quote admits of itself refuses the swap, although the prices of others hold.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_states_its_own_loss_gives_no_plan() {
    let (liar, url) = Liar::telling(|path, answer| {
        if path.contains("/quote") {
            answer["estimate"]["fromAmountUSD"] = "1000".into();
            answer["estimate"]["toAmountUSD"] = "960".into();
        }
    })
    .await;
    let stage = stage(None, |config| {
        let lifi = config.upstreams.0.get_mut("lifi").unwrap();
        liar.hears(lifi.base_url.replace(url).unwrap());
    })
    .await;
    let refused = stage.plans.swap(swap(8453)).await.unwrap_err();
    let found = (refused.cause, refused.check.as_str());
    assert_eq!(found, (PlanCause::Worth, "price_impact_too_high"));
    // The caller may lose as much on purpose.
    let loosened = SwapAsk {
        max_price_impact_bps: Some(400),
        ..swap(8453)
    };
    stage.plans.swap(loosened).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_fees_swaps_are_possible_on_the_home_chain_only() {
    let stage = stage(None, |config| {
        config.plans.remove("fee_config");
    })
    .await;
    let refused = stage.plans.swap(swap(8453)).await.unwrap_err();
    assert_eq!(refused.cause, PlanCause::NoRoute);
    let refused = stage.plans.bridge(bridge()).await.unwrap_err();
    assert_eq!(refused.check, "chain_unsupported");
    assert!(stage.plans.swap(home_swap()).await.is_ok());
}

#[test]
fn rules_that_cannot_be_used_end_the_start_by_their_key() {
    let folder = tempfile::tempdir().unwrap();
    let fees = folder.path().join("fees.toml");
    std::fs::write(&fees, FEES).unwrap();
    let missing = folder.path().join("nowhere.toml");
    for (key, value, said) in [
        (
            "fee_config",
            missing.to_string_lossy().into_owned(),
            "plans.fee_config: cannot read",
        ),
        (
            "price_source",
            "defillama".to_owned(),
            "plans.price_source: no such key: the sources of prices are worth.chains.N.independent",
        ),
        (
            "simulation",
            "sometimes".to_owned(),
            "plans.simulation: expected",
        ),
        (
            "swap_valid_seconds",
            "29".to_owned(),
            "plans.swap_valid_seconds: expected 30 to 600",
        ),
    ] {
        let mut config = Config::default();
        let path = fees.to_string_lossy().into_owned();
        config.plans.insert("fee_config".to_owned(), path.into());
        config.plans.insert(key.to_owned(), value.into());
        // Without wallets the server plans nothing, so it does not read the fees.
        assert!(Sources::connect(&config, recorded_clock()).is_ok(), "{key}");
        config.custody = Some(CustodySection::local("wallets".into(), "a secret".into()));
        let error = Sources::connect(&config, recorded_clock()).err().unwrap();
        assert!(error.to_string().starts_with(said), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_on_the_home_chain_uses_the_reviewed_contracts() {
    let stage = stage(None, |_| {}).await;
    let ask = home_swap();
    let plan = stage.plans.swap(ask.clone()).await.unwrap();
    approves(&plan.steps, USDT0, plan.spender, ask.atoms);
    assert!(plan.at_least < plan.quoted && !plan.at_least.is_zero());
    assert!(plan.valid_until > replay::RECORDED_AT);
    assert_eq!(plan.evidence["receiver"], WALLET.to_string());
    assert!(plan.evidence["function"].is_string());
    assert!(plan.evidence["reviewed_version"].is_string());
    // The first case has a token that `/swap` does not accept, the second an amount that differs
    // from the recorded quote.
    for (changed, cause, check) in [
        (
            SwapAsk {
                from_token: WOKB,
                to_token: USDT0,
                ..ask.clone()
            },
            PlanCause::NoRoute,
            "source_token_not_accepted",
        ),
        (
            SwapAsk {
                atoms: U256::from(1),
                ..ask
            },
            PlanCause::Refused,
            "amount_bound",
        ),
    ] {
        let refused = stage.plans.swap(changed).await.unwrap_err();
        assert_eq!((refused.cause, refused.check.as_str()), (cause, check));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_burns_to_the_wallet_itself() {
    let stage = stage(None, |_| {}).await;
    let plan = stage.plans.bridge(bridge()).await.unwrap();
    approves(&plan.steps, BASE_USDC, TOKEN_MESSENGER, bridge().atoms);
    assert_eq!(plan.steps[2].to, TOKEN_MESSENGER);
    let burn = BurnCall::decode(&plan.steps[2].input).unwrap();
    assert_eq!(burn.mint_recipient, WALLET.into_word());
    assert_eq!(burn.destination_caller, B256::ZERO);
    assert_eq!(
        (burn.max_fee, burn.min_finality_threshold),
        (plan.max_fee, 2000)
    );
    assert_eq!((plan.source_domain, plan.destination_domain), (6, 3));
    let arbitrum = address!("af88d065e77c8cC2239327C5EDb3A432268e5831");
    assert_eq!(plan.minted_token, arbitrum);
    assert_eq!(plan.transmitter, MESSAGE_TRANSMITTER);
    assert_eq!(plan.evidence["rail"], "bridge");

    for (changed, cause, check) in [
        (
            BridgeAsk {
                recipient: ROUTER,
                ..bridge()
            },
            PlanCause::Refused,
            "bridge_recipient_account_bound",
        ),
        (
            BridgeAsk {
                to_chain: 196,
                ..bridge()
            },
            PlanCause::NoRoute,
            "chain_unsupported",
        ),
        (
            BridgeAsk {
                token: address!("d9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"),
                ..bridge()
            },
            PlanCause::NoRoute,
            "token_unsupported",
        ),
    ] {
        let refused = stage.plans.bridge(changed).await.unwrap_err();
        assert_eq!((refused.cause, refused.check.as_str()), (cause, check));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attestation_comes_when_the_burn_is_final() {
    let stage = stage(None, |_| {}).await;
    let asked = |byte| Burn {
        source_domain: 6,
        transaction: B256::repeat_byte(byte),
    };
    let found = stage.plans.attestation(asked(0xc1)).await.unwrap().unwrap();
    assert_eq!((found.message.len(), found.attestation.len()), (376, 130));
    for byte in [0xc2, 0xc3] {
        assert_eq!(stage.plans.attestation(asked(byte)).await, Ok(None));
    }
    // The domain of this burn differs from the domain in the message.
    let other = Burn {
        source_domain: 3,
        ..asked(0xc1)
    };
    let refused = stage.plans.attestation(other).await.unwrap_err();
    assert_eq!(refused.cause, PlanCause::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_have_prices() {
    let stage = stage(None, |_| {}).await;
    let prices = NativePrices::new(&stage.sources);
    let coin = U256::from(10).pow(U256::from(18));
    for chain_id in [196, 8453, 42161, 137] {
        let whole = prices.micro_usd(chain_id, coin).await;
        let Some(whole) = whole else {
            panic!("no price for {chain_id}");
        };
        assert!(whole > 10_000, "{chain_id}: {whole}");
        // The value is rounded up, so that no gas is free.
        assert_eq!(prices.micro_usd(chain_id, U256::from(1)).await, Some(1));
    }
    assert_eq!(prices.micro_usd(7, coin).await, None);
}

#[tokio::test]
async fn an_owner_that_is_no_payer_has_paid_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = SqliteLedger::open(path.to_str().unwrap(), Options::default()).unwrap();
    let ledger = AnyLedger::Sqlite(ledger);
    let paid = PaidByOwners::new(ledger.paid_sums(), 196);
    for chain_id in [196, 8453] {
        assert_eq!(paid.paid(Owner::new(chain_id, WALLET)).await, Some(0));
    }
    drop(ledger);
    assert_eq!(paid.paid(Owner::new(196, WALLET)).await, None);
}
