//! Three chains whose blocks and clock a test controls, wallets of two owners, and processes that
//! act for them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, B256, Bytes, Signature, U256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolCall as _, sol};
use chain_reader::ChainReader;
use custody::{
    Attestation, Custody, CustodyError, CustodyFuture, Guarded, Owner, Provider, Purpose,
    SigningPolicy, Subject, Turns, Wallet,
};
use dev_chain::cctp::{ATTESTER, MESSAGE_TRANSMITTER, TOKEN_MESSENGER};
use dev_chain::iris::Iris;
use dev_chain::{DevChain, GAS_PAYER, Mining, arbitrum, base, xlayer};
use gas_funding::{CoinPrices, Funder, GasFunding, MemoryBook, PaidTotals};
use serde_json::{Value, json};
use test_support::{Fuse, MortalBook, MortalNode, MortalRecords};
use tokio::time::Instant;
use tx_sender::{
    Chain, Clock, HashSigner, MemoryStore, Options, Policy, RpcNode, Sender, Takeover,
    TransactionSigner, Transport,
};
use wallet_actions::{
    Action, Attested, BridgeAsk, BridgePlan, Burn, Intent, Order, Pace, Parts, PlanCause,
    PlanRefused, PlannedStep, Plans, PortFuture, Principal, Refused, StepKind, SwapAsk, SwapPlan,
    WalletActions,
};

use crate::memory::Memory;
use crate::mortal::{InProcess, MortalIntents, payment};
use crate::turns;

pub(crate) const NOW: u64 = 1_795_219_200;
pub(crate) const PRICE: u64 = 50_000;

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
    function transfer(address to, uint256 amount) external returns (bool);
    function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256);
    function depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold) external;
}

pub(crate) fn key(number: u8) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&B256::repeat_byte(number)).unwrap()
}

/// The first owner, who has tokens.
pub(crate) fn owner() -> PrivateKeySigner {
    key(0x51)
}

pub(crate) fn owner_id() -> Owner {
    Owner::new(196, owner().address())
}

/// Keys in memory, one for each owner. That of the first one is there, as if it had been kept.
struct Keys(
    Mutex<BTreeMap<Address, (Owner, PrivateKeySigner)>>,
    Arc<AtomicBool>,
);

impl Keys {
    /// They sign while `signs` says so.
    fn new(signs: Arc<AtomicBool>) -> Self {
        let key = Self::of(owner_id());
        Self(
            Mutex::new([(key.address(), (owner_id(), key))].into()),
            signs,
        )
    }

    fn of(owner: Owner) -> PrivateKeySigner {
        let seed = alloy_primitives::keccak256(owner.to_string());
        PrivateKeySigner::from_bytes(&seed).unwrap()
    }
}

pub(crate) fn wallet() -> Address {
    Keys::of(owner_id()).address()
}

fn ready<'a, T: Send + 'a>(value: Result<T, CustodyError>) -> CustodyFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

const fn known(owner: Owner, address: Address) -> Wallet {
    Wallet {
        owner,
        address,
        created_at: None,
        provider: Provider::Local,
        exported: false,
    }
}

impl Custody for Keys {
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet> {
        let key = Self::of(owner);
        let address = key.address();
        self.0.lock().unwrap().insert(address, (owner, key));
        ready(Ok(known(owner, address)))
    }

    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<Wallet>> {
        ready(Ok(Some(known(owner, Self::of(owner).address()))))
    }

    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>> {
        let keys = self.0.lock().unwrap();
        ready(Ok(keys
            .get(&address)
            .map(|(owner, _)| known(*owner, address))))
    }

    fn sign<'a>(
        &'a self,
        wallet: Address,
        subject: Subject<'a>,
        _: Purpose,
    ) -> CustodyFuture<'a, Signature> {
        let keys = self.0.lock().unwrap();
        let signed = subject.hash().map(|hash| {
            let (_, key) = &keys[&wallet];
            key.sign_hash_sync(&hash).unwrap()
        });
        let signs = Arc::clone(&self.1);
        Box::pin(async move {
            while !signs.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            signed
        })
    }

    fn attest(&self, _: Owner) -> CustodyFuture<'_, Option<Attestation>> {
        ready(Ok(None))
    }
}

/// The list of what wallets may call on the three stages.
pub(crate) fn policy() -> SigningPolicy {
    let token = "\"0x095ea7b3\", \"0xa9059cbb\", \"0xe3ee160e\", \"0xcf092995\"";
    let pool = "\"0x617ba037\", \"0x69328dec\"";
    let vault = "\"0x6e553f65\", \"0xb460af94\", \"0xba087652\"";
    let (swap, burn, mint) = ("\"0x5f3bd1c8\"", "\"0x8e0250ee\"", "\"0x57ecfd28\"");
    let swap = swap.replace(
        "5f3bd1c8",
        &alloy_primitives::hex::encode(snwapCall::SELECTOR),
    );
    let mut text = "version = \"test\"\n".to_owned();
    let mut row = |chain: u64, contract: Address, selectors: &str, product: &str| {
        text += &format!(
            "[[targets]]\nchain_id = {chain}\ncontract = \"{contract}\"\nselectors = [{selectors}]\nwhat = \"it\"\n{product}\n"
        );
    };
    let product = |id: &str, protocol: &str, asset: Address| {
        format!("product_id = \"{id}\"\nprotocol = \"{protocol}\"\nasset = \"{asset}\"\n")
    };
    for asset in [xlayer::USDT0, xlayer::USDG, xlayer::USDC] {
        row(196, asset, token, "");
    }
    let aave = |id: &str, asset| product(id, "aave-v3", asset);
    row(
        196,
        xlayer::AAVE_POOL,
        pool,
        &aave("aave-usdt0", xlayer::USDT0),
    );
    row(
        196,
        xlayer::AAVE_POOL,
        pool,
        &aave("aave-usdg", xlayer::USDG),
    );
    row(
        196,
        xlayer::STATA_USDG,
        vault,
        &product("stata-usdg", "erc4626", xlayer::USDG),
    );
    for (chain, usdc, weth) in [
        (8453, base::USDC, base::WETH),
        (42_161, arbitrum::USDC, arbitrum::WETH),
    ] {
        row(chain, usdc, token, "");
        row(chain, weth, token, "");
        row(chain, base::EXCHANGE, &swap, "");
        row(chain, TOKEN_MESSENGER, burn, "");
        row(chain, MESSAGE_TRANSMITTER, mint, "");
    }
    SigningPolicy::parse(&text).unwrap()
}

/// Swaps at the exchange of Base, and burns towards Arbitrum.
pub(crate) struct TestPlans {
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    iris: Iris,
    /// The least output of swaps, in place of the exchange's rate.
    pub(crate) at_least: Mutex<Option<U256>>,
    pub(crate) refuses: Mutex<Option<PlanRefused>>,
    /// What is asked of the exchange in the calldata.
    pub(crate) asks_for: Mutex<U256>,
}

fn planned(kind: StepKind, to: Address, input: Vec<u8>) -> PlannedStep {
    PlannedStep {
        kind,
        to,
        input: input.into(),
    }
}

fn three(token: Address, spender: Address, amount: U256, call: Vec<u8>) -> Vec<PlannedStep> {
    let approve = |amount| approveCall { spender, amount }.abi_encode();
    vec![
        planned(StepKind::ApproveReset, token, approve(U256::ZERO)),
        planned(StepKind::Approve, token, approve(amount)),
        planned(StepKind::Call, spender, call),
    ]
}

impl Plans for TestPlans {
    fn swap(&self, ask: SwapAsk) -> PortFuture<'_, Result<SwapPlan, PlanRefused>> {
        let refused = self.refuses.lock().unwrap().clone();
        let quoted = ask.atoms * U256::from(400_000_000_u64);
        let at_least = self.at_least.lock().unwrap().unwrap_or(quoted);
        let call = snwapCall {
            tokenIn: ask.from_token,
            amountIn: ask.atoms,
            recipient: ask.wallet,
            tokenOut: ask.to_token,
            amountOutMin: *self.asks_for.lock().unwrap(),
            executor: Address::ZERO,
            executorData: Bytes::new(),
        };
        let plan = SwapPlan {
            steps: three(ask.from_token, base::EXCHANGE, ask.atoms, call.abi_encode()),
            spender: base::EXCHANGE,
            quoted,
            at_least,
            valid_until: (self.now)() + 120,
            evidence: Value::Null,
        };
        Box::pin(async move { refused.map_or(Ok(plan), Err) })
    }

    fn bridge(&self, ask: BridgeAsk) -> PortFuture<'_, Result<BridgePlan, PlanRefused>> {
        let call = depositForBurnCall {
            amount: ask.atoms,
            destinationDomain: arbitrum::DOMAIN,
            mintRecipient: ask.recipient.into_word(),
            burnToken: ask.token,
            destinationCaller: B256::ZERO,
            maxFee: U256::ZERO,
            minFinalityThreshold: 2000,
        };
        let plan = BridgePlan {
            steps: three(ask.token, TOKEN_MESSENGER, ask.atoms, call.abi_encode()),
            spender: TOKEN_MESSENGER,
            max_fee: U256::ZERO,
            source_domain: base::DOMAIN,
            destination_domain: arbitrum::DOMAIN,
            minted_token: arbitrum::USDC,
            transmitter: MESSAGE_TRANSMITTER,
            valid_until: (self.now)() + 300,
            evidence: Value::Null,
        };
        Box::pin(async move { Ok(plan) })
    }

    fn attestation(&self, burn: Burn) -> PortFuture<'_, Result<Option<Attested>, PlanRefused>> {
        Box::pin(async move {
            let path = format!(
                "/v2/messages/{}?transactionHash={}",
                burn.source_domain, burn.transaction
            );
            let reply = self.iris.answer("GET", &path).unwrap();
            if reply.status == 500 {
                return Err(PlanRefused {
                    cause: PlanCause::Unavailable,
                    check: "quote_unavailable".to_owned(),
                    message: "down".to_owned(),
                    retry_after: None,
                });
            }
            let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
            let message = &body["messages"][0];
            if message["status"] != "complete" {
                return Ok(None);
            }
            let bytes = |name: &str| message[name].as_str().unwrap().parse().unwrap();
            Ok(Some(Attested {
                message: bytes("message"),
                attestation: bytes("attestation"),
            }))
        })
    }
}

pub(crate) struct Paid(pub(crate) u64);

impl PaidTotals for Paid {
    fn paid(&self, _: Owner) -> PortFuture<'_, Option<u64>> {
        Box::pin(std::future::ready(Some(self.0)))
    }
}

/// Every coin at so many dollars, if it has a price.
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
    pub(crate) signs: Arc<AtomicBool>,
    pub(crate) funder: Mutex<Option<Funder>>,
    pub(crate) paid: Mutex<u64>,
    /// What a coin of every chain is worth, in dollars.
    pub(crate) prices: Mutex<Option<u64>>,
    /// Whether several processes run at the same time.
    pub(crate) servers: bool,
    mining: Arc<AtomicBool>,
    start: Instant,
}

/// What runs in one process, and ends with it.
pub(crate) struct Process {
    pub(crate) actions: WalletActions,
    pub(crate) fuse: Arc<Fuse>,
    pub(crate) sender: Sender,
}

impl World {
    /// The owner has 1,000 of each token of X Layer and USDC on Base; the wallet has coins for gas,
    /// and no tokens.
    pub(crate) fn new() -> Self {
        Self::with_coins(U256::from(10_u64.pow(18)))
    }

    pub(crate) fn with_coins(coins: U256) -> Self {
        let start = Instant::now();
        let build = |builder: dev_chain::DevChainBuilder, tokens: &[Address]| {
            let builder = builder
                .clock(move || NOW + start.elapsed().as_secs())
                .mining(Mining::Manual)
                .account(wallet(), coins)
                .account(owner().address(), U256::ZERO);
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
        let xlayer = build(DevChain::builder().xlayer_stage(), &of_xlayer);
        let base = build(DevChain::builder().base_stage(), &[base::USDC]);
        let arbitrum = build(DevChain::builder().arbitrum_stage(), &[]);
        let iris = Iris::new(ATTESTER)
            .unwrap()
            .watching(base::DOMAIN, &base)
            .watching(arbitrum::DOMAIN, &arbitrum);
        let mining = Arc::new(AtomicBool::new(true));
        // A block each second.
        tokio::spawn({
            let (chains, mining) = (
                [xlayer.clone(), base.clone(), arbitrum.clone()],
                Arc::clone(&mining),
            );
            async move {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
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
            signs: Arc::new(true.into()),
            funder: Mutex::new(None),
            paid: Mutex::new(0),
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
                paid: Arc::new(Paid(*self.paid.lock().unwrap())),
                clock: Arc::new(move || NOW + start.elapsed().as_secs()),
            }),
        };
        let actions = WalletActions::start(Parts {
            custody: Arc::new(Guarded::new(Keys::new(Arc::clone(&self.signs)), policy())),
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
        payment: payment(number),
        call: String::new(),
        price_micro_usd: PRICE,
        action,
        principal: None,
        deadline: None,
        max_slippage_bps: None,
    }
}

impl Process {
    /// Begins an action, and waits for its end.
    pub(crate) async fn run(&self, order: Order) -> Result<Intent, Refused> {
        let intent = Box::pin(self.actions.begin(&order)).await?;
        Ok(self.end(&intent).await)
    }

    /// Waits for the end of an intent; at most ten minutes.
    pub(crate) async fn end(&self, intent: &Intent) -> Intent {
        for _ in 0..600 {
            let found = self.actions.find(&intent.id).await.unwrap().unwrap();
            if found.state.is_over() {
                return found;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!(
            "an intent does not end: {:#?}",
            self.actions.find(&intent.id).await
        );
    }
}

/// The owner's signature over what a refusal asks for.
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

/// What was done, as words.
pub(crate) fn steps(intent: &Intent) -> Vec<String> {
    let steps = intent.steps.iter();
    steps
        .map(|step| format!("{} {}", step.kind.as_str(), step.status.as_str()))
        .collect()
}

/// What a refusal is called.
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

/// Tokens of an account.
pub(crate) fn balance(chain: &DevChain, token: Address, account: Address) -> u64 {
    chain.balance_of(token, account).unwrap().to()
}

/// Moves tokens in the name of anybody.
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
