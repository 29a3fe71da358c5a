//! A stage for tests: three chains whose blocks and clock a test controls, the owner and its
//! wallet, and processes that act for it.

mod keys;
mod plans;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, B256, U256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::sol;
use chain_reader::ChainReader;
use custody::{Guarded, Owner, Turns};
use dev_chain::cctp::ATTESTER;
use dev_chain::iris::Iris;
use dev_chain::{DevChain, GAS_PAYER, Mining, arbitrum, base, xlayer};
use gas_funding::{CoinPrices, Funder, GasFunding, MemoryBook, PaidTotals};
use serde_json::{Value, json};
use test_support::{Fuse, MortalBook, MortalNode, MortalRecords, eventually_every, pass};
use tokio::sync::watch;
use tokio::time::Instant;
use tx_sender::{
    Chain, Clock, HashSigner, MemoryStore, Options, Policy, RpcNode, Sender, Takeover,
    TransactionSigner, Transport,
};
use wallet_actions::{
    Action, Intent, Order, Pace, Parts, PortFuture, Principal, Refused, WalletActions,
};

use self::keys::Keys;
pub(crate) use self::keys::{policy, wallet};
pub(crate) use self::plans::TestPlans;
use crate::memory::Memory;
use crate::mortal::{InProcess, MortalIntents, payment};
use crate::turns;

pub(crate) const NOW: u64 = 1_795_219_200;
pub(crate) const PRICE: u64 = 50_000;
/// The pause between two blocks, and between two looks at something that needs blocks.
const SECOND: Duration = Duration::from_secs(1);

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
    function transfer(address to, uint256 amount) external returns (bool);
    function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256);
    function depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold) external;
}

pub(crate) fn key(number: u8) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&B256::repeat_byte(number)).unwrap()
}

/// The owner of the wallet, who has tokens.
pub(crate) fn owner() -> PrivateKeySigner {
    key(0x51)
}

pub(crate) fn owner_id() -> Owner {
    Owner::new(196, owner().address())
}

/// The sum of the owner's payments, and whether the payment of an action is not in that sum yet.
pub(crate) struct Paid(u64, bool);

impl PaidTotals for Paid {
    fn paid(&self, _: Owner) -> PortFuture<'_, Option<u64>> {
        Box::pin(std::future::ready(Some(self.0)))
    }

    fn is_unsettled(&self, _: B256) -> PortFuture<'_, bool> {
        Box::pin(std::future::ready(self.1))
    }
}

/// A price in dollars that is the same for every coin. `None` when no price is known.
struct Prices(Option<u64>);

impl CoinPrices for Prices {
    fn micro_usd(&self, _: u64, wei: U256) -> PortFuture<'_, Option<u64>> {
        let worth = |dollars| (wei * U256::from(dollars)).div_ceil(U256::from(10_u64.pow(12)));
        let micro = self.0.map(|dollars: u64| worth(dollars).to());
        Box::pin(std::future::ready(micro))
    }
}

pub(crate) struct World {
    pub(crate) xlayer: DevChain,
    pub(crate) base: DevChain,
    pub(crate) arbitrum: DevChain,
    pub(crate) iris: Iris,
    pub(crate) plans: Arc<TestPlans>,
    pub(crate) store: Arc<Memory>,
    pub(crate) records: Arc<MemoryStore>,
    pub(crate) book: Arc<MemoryBook>,
    pub(crate) up: Arc<AtomicBool>,
    /// Whether the wallet's key signs.
    pub(crate) signs: watch::Sender<bool>,
    /// Whether custody finds wallets.
    pub(crate) finds: watch::Sender<bool>,
    pub(crate) funder: Mutex<Option<Funder>>,
    pub(crate) paid: Mutex<u64>,
    /// Whether the payments of the actions are not in the sum of `paid` yet.
    pub(crate) unsettled: bool,
    /// The price in dollars of a coin of any chain. `None` when it is unknown.
    pub(crate) prices: Mutex<Option<u64>>,
    /// Whether several processes run at the same time.
    pub(crate) servers: bool,
    mining: Arc<AtomicBool>,
    start: Instant,
}

/// A process and its parts. Dropping it ends them.
pub(crate) struct Process {
    pub(crate) actions: WalletActions,
    pub(crate) fuse: Arc<Fuse>,
    pub(crate) sender: Sender,
}

impl World {
    /// Makes a world in which the owner has 1,000 USDT0, USDG and USDC on X Layer and 1,000 USDC on
    /// Base. The wallet has coins for gas, and no tokens.
    pub(crate) fn new() -> Self {
        Self::with_coins(U256::from(10_u64.pow(18)))
    }

    pub(crate) fn with_coins(coins: U256) -> Self {
        Self::made(coins, [None; 3])
    }

    /// Makes a world in which the owner is a contract with this code: on X Layer, on Base and on
    /// Arbitrum.
    pub(crate) fn of_a_contract(codes: [Option<&'static [u8]>; 3]) -> Self {
        Self::made(U256::from(10_u64.pow(18)), codes)
    }

    fn made(coins: U256, codes: [Option<&'static [u8]>; 3]) -> Self {
        let start = Instant::now();
        let build = |builder: dev_chain::DevChainBuilder,
                     code: Option<&'static [u8]>,
                     tokens: &[Address]| {
            let builder = builder
                .clock(move || NOW + start.elapsed().as_secs())
                .mining(Mining::Manual)
                .account(wallet(), coins);
            let builder = match code {
                Some(code) => builder.code(owner().address(), code.into()),
                None => builder.account(owner().address(), U256::ZERO),
            };
            let funded = tokens.iter().fold(builder, |builder, token| {
                builder.holder(*token, owner().address(), U256::from(1_000_000_000_u64))
            });
            let chain = funded.build().unwrap();
            for _ in 0..3 {
                chain.mine();
            }
            chain
        };
        let of_xlayer = [xlayer::USDT0, xlayer::USDG, xlayer::USDC];
        let xlayer = build(DevChain::builder().xlayer_stage(), codes[0], &of_xlayer);
        let base = build(DevChain::builder().base_stage(), codes[1], &[base::USDC]);
        let arbitrum = build(DevChain::builder().arbitrum_stage(), codes[2], &[]);
        let iris = Iris::new(ATTESTER)
            .unwrap()
            .watching(base::DOMAIN, &base)
            .watching(arbitrum::DOMAIN, &arbitrum);
        let mining = Arc::new(AtomicBool::new(true));
        // Mine a block each second.
        tokio::spawn({
            let (chains, mining) = (
                [xlayer.clone(), base.clone(), arbitrum.clone()],
                Arc::clone(&mining),
            );
            async move {
                loop {
                    pass(SECOND).await;
                    if mining.load(Ordering::SeqCst) {
                        for chain in &chains {
                            chain.mine();
                        }
                    }
                }
            }
        });
        let now: Arc<dyn Fn() -> u64 + Send + Sync> =
            Arc::new(move || NOW + start.elapsed().as_secs());
        Self {
            plans: Arc::new(TestPlans {
                now,
                iris: iris.clone(),
                at_least: Mutex::default(),
                refuses: Mutex::default(),
                asks_for: Mutex::default(),
            }),
            xlayer,
            base,
            arbitrum,
            iris,
            store: Arc::default(),
            records: Arc::default(),
            book: Arc::default(),
            up: Arc::new(true.into()),
            signs: watch::Sender::new(true),
            finds: watch::Sender::new(true),
            funder: Mutex::new(None),
            paid: Mutex::new(0),
            unsettled: true,
            prices: Mutex::new(None),
            servers: false,
            mining,
            start,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        NOW + self.start.elapsed().as_secs()
    }

    pub(crate) fn mine_on(&self, on: bool) {
        self.mining.store(on, Ordering::SeqCst);
    }

    pub(crate) fn process(&self) -> Process {
        self.process_until(Fuse::eternal())
    }

    pub(crate) fn process_until(&self, fuse: Arc<Fuse>) -> Process {
        let chains = [
            (196, &self.xlayer),
            (8453, &self.base),
            (42_161, &self.arbitrum),
        ];
        let node = |chain: &DevChain| -> Arc<dyn Transport> {
            let node = InProcess {
                chain: chain.clone(),
                up: Arc::clone(&self.up),
            };
            Arc::new(MortalNode {
                node: Arc::new(node),
                fuse: Arc::clone(&fuse),
            })
        };
        let readers = chains.map(|(id, chain)| ChainReader::new(id, vec![node(chain)], 1));
        let networks = chains.map(|(id, chain)| Chain {
            id,
            nodes: vec![Arc::new(RpcNode::new(node(chain)))],
            policy: Policy {
                confirmations: 1,
                ..Policy::default()
            },
        });
        let gas: Arc<dyn TransactionSigner> = Arc::new(HashSigner::new(
            PrivateKeySigner::from_bytes(&GAS_PAYER.key).unwrap(),
        ));
        let start = self.start;
        let sender = Sender::new(
            Arc::new(MortalRecords {
                store: self.records.clone(),
                fuse: Arc::clone(&fuse),
            }),
            networks.into(),
            vec![gas],
            Options {
                takeover: match self.servers {
                    true => Takeover::WhenOver,
                    false => Takeover::AtOnce,
                },
                clock: Clock::new(move || NOW + start.elapsed().as_secs()),
                ..Options::default()
            },
        );
        let funding = match self.funder.lock().unwrap().clone() {
            None => GasFunding::none(),
            Some(funder) => GasFunding::new(gas_funding::Parts {
                funder,
                sender: sender.clone(),
                book: Arc::new(MortalBook {
                    book: Arc::clone(&self.book),
                    fuse: Arc::clone(&fuse),
                }),
                prices: Arc::new(Prices(*self.prices.lock().unwrap())),
                paid: Arc::new(Paid(*self.paid.lock().unwrap(), self.unsettled)),
                clock: Arc::new(move || NOW + start.elapsed().as_secs()),
            }),
        };
        let actions = WalletActions::start(Parts {
            custody: Arc::new(Guarded::new(
                Keys::new(self.signs.subscribe(), self.finds.subscribe()),
                policy(),
            )),
            policy: policy(),
            chains: readers.into(),
            sender: sender.clone(),
            turns: match self.servers {
                true => turns::shared(self.records.clone(), Arc::clone(&fuse)),
                false => Turns::default(),
            },
            store: Arc::new(MortalIntents {
                store: Arc::clone(&self.store),
                fuse: Arc::clone(&fuse),
            }),
            plans: Arc::<TestPlans>::clone(&self.plans),
            funding,
            pace: Pace {
                look: Duration::from_millis(300),
                ..Pace::default()
            },
            clock: Arc::new(move || NOW + start.elapsed().as_secs()),
        });
        Process {
            actions,
            fuse,
            sender,
        }
    }
}

pub(crate) fn order(number: u8, action: Action) -> Order {
    Order {
        owner: owner_id(),
        owner_is_key: true,
        payment: payment(number),
        call: String::new(),
        purchase: None,
        price_micro_usd: PRICE,
        charge: None,
        action,
        principal: None,
        deadline: None,
        claim: None,
        begin_by: None,
        max_slippage_bps: None,
        max_price_impact_bps: None,
    }
}

impl Process {
    /// Begins an action, and waits for its end.
    pub(crate) async fn run(&self, order: Order) -> Result<Intent, Refused> {
        let intent = Box::pin(self.actions.begin(&order)).await?;
        Ok(self.end(&intent).await)
    }

    /// Runs an action to its end. Waits first until no other action occupies the wallet.
    pub(crate) async fn run_when_free(&self, order: Order) -> Intent {
        let run = async || match self.run(order.clone()).await {
            Ok(ended) => Some(ended),
            Err(Refused::Busy(_)) => None,
            Err(refused) => panic!("{refused}"),
        };
        eventually_every(SECOND, "the wallet is free", run).await
    }

    /// Waits for the end of an intent.
    pub(crate) async fn end(&self, intent: &Intent) -> Intent {
        self.until(intent, |intent| intent.state.is_over()).await
    }

    /// Waits until `is` holds for the record of an intent.
    pub(crate) async fn until(&self, intent: &Intent, is: impl Fn(&Intent) -> bool) -> Intent {
        let found = async || self.actions.find(&intent.id).await.unwrap().filter(&is);
        let begun = std::fmt::from_fn(|f| write!(f, "what is to become of {intent:#?}"));
        eventually_every(SECOND, begun, found).await
    }
}

/// Signs the typed data of a refusal with the owner's key.
pub(crate) fn sign_principal(asked: &Value) -> Principal {
    let typed: TypedData = serde_json::from_value(asked.clone()).unwrap();
    let hash = typed.eip712_signing_hash().unwrap();
    let signature = owner().sign_hash_sync(&hash).unwrap();
    let message = &asked["message"];
    let text = |name: &str| message[name].as_str().unwrap();
    Principal {
        signature: signature.as_bytes().to_vec().into(),
        from: text("from").parse().unwrap(),
        to: text("to").parse().unwrap(),
        value: text("value").parse().unwrap(),
        valid_after: text("validAfter").parse().unwrap(),
        valid_before: text("validBefore").parse().unwrap(),
        nonce: text("nonce").parse().unwrap(),
    }
}

/// Returns the kind and the status of each transaction.
pub(crate) fn steps(intent: &Intent) -> Vec<String> {
    let steps = intent.steps.iter();
    steps
        .map(|step| format!("{} {}", step.kind.as_str(), step.status.as_str()))
        .collect()
}

/// Returns the name of a refusal's reason.
pub(crate) fn reason(refused: &Refused) -> String {
    match refused {
        Refused::Nothing { reason, .. }
        | Refused::Unsupported { reason, .. }
        | Refused::Gas { reason, .. }
        | Refused::Unavailable { reason, .. } => (*reason).to_owned(),
        Refused::Invalid { path, .. } => (*path).to_owned(),
        Refused::Plan(plan) => plan.check.clone(),
        Refused::Policy(policy) => policy.code().to_owned(),
        Refused::Busy(_) => "busy".to_owned(),
        Refused::Funds(required) => json!({ "funds": required.missing }).to_string(),
        other => panic!("{other:?}"),
    }
}

/// Returns an account's balance of a token.
pub(crate) fn balance(chain: &DevChain, token: Address, account: Address) -> u64 {
    chain.balance_of(token, account).unwrap().to()
}

/// Moves tokens from any account to another one.
pub(crate) fn move_tokens(
    chain: &DevChain,
    token: Address,
    from: Address,
    to: Address,
    amount: u64,
) {
    let amount = U256::from(amount);
    chain
        .call_as(from, token, &transferCall { to, amount })
        .unwrap();
    for _ in 0..2 {
        chain.mine();
    }
}
