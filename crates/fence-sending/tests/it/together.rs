//! Plans of the fence and actions of wallets, on one account in one process: they share its turn,
//! and one book of coins for gas.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, Signature, U256};
use alloy_signer::SignerSync as _;
use chain_reader::ChainReader;
use custody::{
    Attestation, Custody, CustodyError, CustodyFuture, Owner, Provider, Purpose, SigningPolicy,
    Subject, Turns, Wallet,
};
use delegation_fence::State;
use dev_chain::base;
use serde_json::{Value, json};
use test_support::Fuse;
use wallet_actions::{
    Action, Attested, BridgeAsk, BridgePlan, Burn, DepositAsk, Intent, Order, PlanRefused, Plans,
    PortFuture, SwapAsk, SwapPlan, WalletActions, WithdrawOrder,
};

use crate::gas::{empty, funder};
use crate::intents::Memory;
use crate::sample::{BASE, USDC};
use crate::stage::{Process, World, owner, wallet};

fn owner_id() -> Owner {
    Owner::new(196, owner().address())
}

/// The one wallet of the stage.
struct OneKey;

fn known() -> Wallet {
    Wallet {
        owner: owner_id(),
        address: wallet().address(),
        created_at: None,
        provider: Provider::Local,
        exported: false,
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> CustodyFuture<'a, T> {
    Box::pin(std::future::ready(Ok::<_, CustodyError>(value)))
}

impl Custody for OneKey {
    fn get_or_create(&self, _: Owner) -> CustodyFuture<'_, Wallet> {
        ready(known())
    }

    fn find(&self, _: Owner) -> CustodyFuture<'_, Option<Wallet>> {
        ready(Some(known()))
    }

    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>> {
        ready(Some(known()).filter(|known| known.address == address))
    }

    fn sign<'a>(
        &'a self,
        _: Address,
        subject: Subject<'a>,
        _: Purpose,
    ) -> CustodyFuture<'a, Signature> {
        let signed = subject.hash();
        let signed = signed.map(|hash| wallet().sign_hash_sync(&hash).unwrap());
        Box::pin(std::future::ready(signed))
    }

    fn attest(&self, _: Owner) -> CustodyFuture<'_, Option<Attestation>> {
        ready(None)
    }
}

/// Builds no swaps and no bridges: the action of these tests is a withdrawal.
struct NoPlans;

impl Plans for NoPlans {
    fn swap(&self, _: SwapAsk) -> PortFuture<'_, Result<SwapPlan, PlanRefused>> {
        panic!("no plan is asked for")
    }

    fn judge_deposit(&self, _: DepositAsk) -> PortFuture<'_, Result<Value, PlanRefused>> {
        panic!("no judgement is asked for")
    }

    fn bridge(&self, _: BridgeAsk) -> PortFuture<'_, Result<BridgePlan, PlanRefused>> {
        panic!("no plan is asked for")
    }

    fn attestation(&self, _: Burn) -> PortFuture<'_, Result<Option<Attested>, PlanRefused>> {
        panic!("no plan is asked for")
    }
}

fn policy() -> SigningPolicy {
    let text = format!(
        "version = \"test\"\n[[targets]]\nchain_id = {BASE}\ncontract = \"{USDC}\"\n\
         selectors = [\"0xa9059cbb\"]\nwhat = \"USDC\"\n"
    );
    SigningPolicy::parse(&text).unwrap()
}

/// Wallet actions in the same process as the plans.
pub(crate) fn actions(world: &World, process: &Process, turns: Turns) -> WalletActions {
    let started = world.clock();
    WalletActions::start(wallet_actions::Parts {
        // The sender has one signer for the wallet, which signs the plan's transactions too.
        custody: Arc::new(OneKey),
        policy: policy(),
        chains: vec![ChainReader::new(BASE, vec![world.node(&process.fuse)], 1)],
        sender: process.sender.clone(),
        turns,
        store: Arc::new(Memory::default()),
        plans: Arc::new(NoPlans),
        funding: process.funding.clone(),
        pace: wallet_actions::Pace {
            look: Duration::from_millis(200),
            ..wallet_actions::Pace::default()
        },
        clock: started,
    })
}

pub(crate) fn withdrawal(number: u8) -> Order {
    Order {
        owner: owner_id(),
        owner_is_key: true,
        payment: B256::repeat_byte(number),
        call: String::new(),
        price_micro_usd: 0,
        charge: None,
        action: Action::Withdraw(WithdrawOrder {
            chain_id: BASE,
            token: USDC,
            amount: Some("1".to_owned()),
        }),
        principal: None,
        deadline: None,
        claim: None,
        begin_by: None,
        purchase: None,
        max_slippage_bps: None,
        max_price_impact_bps: None,
    }
}

/// Makes blocks until the end of the intent.
pub(crate) async fn ended(world: &World, actions: &WalletActions, intent: &Intent) -> Intent {
    let mut found = intent.clone();
    for _ in 0..600 {
        found = actions.find(&intent.id).await.unwrap().unwrap();
        if found.state.is_over() {
            return found;
        }
        world.block().await;
    }
    panic!("the intent does not end: {found:#?}");
}

/// Lists the wallet's transactions in the order of their nonces: `true` for those of the plan.
pub(crate) fn of_plan(world: &World) -> Vec<bool> {
    let sent = world.chain.transactions();
    let own = sent.iter().filter(|sent| sent.from == wallet().address());
    own.map(|sent| {
        sent.to == Some(base::ROUTER) || sent.input.starts_with(&[0x09, 0x5e, 0xa7, 0xb3])
    })
    .collect()
}

/// Begins an action when the first step of a plan is on its way. Returns whether it came between
/// two transactions of the plan.
async fn comes_between(shared: bool) -> bool {
    let world = World::new();
    let process = world.process(Fuse::eternal()).await;
    let turns = match shared {
        true => process.turns.clone(),
        false => Turns::default(),
    };
    let actions = actions(&world, &process, turns);
    let plan = world.accept();
    world
        .until("the first step", |world| !of_plan(world).is_empty())
        .await;
    let intent = Box::pin(actions.begin(&withdrawal(1))).await.unwrap();
    assert_eq!(world.ended(plan).await, State::Done);
    let intent = ended(&world, &actions, &intent).await;
    assert_eq!(intent.state, wallet_actions::State::Completed);
    let sent = of_plan(&world);
    assert_eq!(
        sent.iter().filter(|of_plan| **of_plan).count(),
        3,
        "{sent:?}"
    );
    assert_eq!(sent.len(), 4, "{sent:?}");
    sent != [true, true, true, false]
}

#[tokio::test(start_paused = true)]
async fn a_plan_and_an_action_never_run_at_the_same_time_on_one_account() {
    assert!(!comes_between(true).await);
    // With separate turns they do run at the same time.
    assert!(comes_between(false).await);
}

/// The top-up for the first plan of an account without coins, in micro US dollars.
async fn given_for_a_plan() -> u64 {
    let mut world = empty();
    world.coin_usd = Some(2_500);
    world.funder = Some(funder(u64::MAX, u64::MAX));
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::Done);
    world.book.all().iter().map(|it| it.micro_usd).sum()
}

/// Somebody takes the account's coins: the next transaction needs a top-up.
fn spend_all(world: &World) {
    let (chain, account) = (world.chain.clone(), wallet().address());
    let taken = chain.native_balance(account);
    world.instead(move |request| {
        let asked: Option<Address> = request["params"][0].as_str()?.parse().ok();
        let left = chain.native_balance(account).saturating_sub(taken);
        (request["method"] == "eth_getBalance" && asked == Some(account))
            .then(|| json!({ "result": left }))
    });
}

#[tokio::test(start_paused = true)]
async fn an_action_after_a_plan_and_a_plan_after_an_action_share_every_budget() {
    let of_plan = given_for_a_plan().await;
    assert!(of_plan > 1);
    // Each of the three budgets covers the plan alone, and nothing beside it.
    for budget in 0..3 {
        let bounded = |at: u64| if at == budget { of_plan } else { u64::MAX };
        let mut world = empty();
        world.coin_usd = Some(2_500);
        world.funder = Some(gas_funding::Funder {
            of_all: bounded(2),
            ..funder(u64::MAX, bounded(0))
        });
        world.paid = bounded(1);
        let process = world.process(Fuse::eternal()).await;
        let actions = actions(&world, &process, process.turns.clone());
        let plan = world.accept();
        assert_eq!(world.ended(plan).await, State::Done, "{budget}");
        spend_all(&world);
        let intent = Box::pin(actions.begin(&withdrawal(1))).await.unwrap();
        let intent = ended(&world, &actions, &intent).await;
        let halted = intent.halted.as_deref();
        assert_eq!(halted, Some("gas_budget_exhausted"), "{budget}");
        assert!(!intent.has_effect());

        // In the reverse order, the action's top-up reduces the room for the plan.
        let mut world = empty();
        world.coin_usd = Some(2_500);
        world.funder = Some(gas_funding::Funder {
            of_all: bounded(2),
            ..funder(u64::MAX, bounded(0))
        });
        world.paid = bounded(1);
        let process = world.process(Fuse::eternal()).await;
        let actions = self::actions(&world, &process, process.turns.clone());
        let intent = Box::pin(actions.begin(&withdrawal(1))).await.unwrap();
        let intent = ended(&world, &actions, &intent).await;
        assert_eq!(intent.state, wallet_actions::State::Completed, "{budget}");
        spend_all(&world);
        let plan = world.accept();
        assert_eq!(world.ended(plan).await, State::HaltedClean, "{budget}");
        assert_eq!(world.report(plan).reason, Some("plan_expired"));
        assert_eq!((world.allowance(), world.swaps()), (U256::ZERO, 0));
    }
}
