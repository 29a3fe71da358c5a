//! The stage of the tests of moves: a wallet on X Layer, the files of a server, and processes that
//! use both.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_primitives::{Address, B256, U256, address};
use alloy_sol_types::SolCall;
use api_server::{TokenPrices, WalletMover};
use chain_reader::ChainReader;
use custody::{Custody, Guarded, LocalCustody, Owner, SigningPolicy, Turns};
use dev_chain::{DevChain, MINTER, RpcServer, xlayer};
use jiff::Timestamp;
use readings::Decimal;
use readings::defi::grade::Grade;
use readings::defi::market::{Market, Other};
use tempfile::TempDir;
use test_support::eventually;
use tx_sender::{
    Chain, Clock, HttpTransport, Options, Policy, RpcNode, Sender, SqliteStore as Records,
    Takeover, Transport,
};
use wallet_actions::{GasFunding, Pace, Parts, SqliteStore, WalletActions};
use watch_server::{Holdings, MoveState, Mover as _, Yields};
use yield_watch::{
    Inputs, Mandate, Mode, MoveKey, MoveOutcome, Proposal, Rules, Snapshot, best_allowed,
};

use crate::moves::ports::{Nothing, TestPrices, TestYields};

pub(crate) const NOW: u64 = 1_795_219_200;
/// For how many seconds the yields that a check reads are fresh.
pub(crate) const FRESH: u64 = 2_700;
pub(crate) const OWNER: Owner =
    Owner::new(196, address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));

pub(crate) const LENT: &str = "aave-v3-xlayer-usdg";
pub(crate) const VAULT: &str = "stata-usdg";
pub(crate) const LENT_USDT0: &str = "aave-v3-xlayer-usdt0";

/// 1,000 dollars in atoms.
pub(crate) const THOUSAND: u64 = 1_000_000_000;

const TARGETS: &str = r#"
version = "test"
[[targets]]
chain_id = 196
contract = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8"
selectors = ["0x095ea7b3", "0xa9059cbb"]
what = "USDG"
[[targets]]
chain_id = 196
contract = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"
selectors = ["0x095ea7b3", "0xa9059cbb"]
what = "USDT0"
[[targets]]
chain_id = 196
contract = "0xE3F3Caefdd7180F884c01E57f65Df979Af84f116"
selectors = ["0x617ba037", "0x69328dec"]
what = "Aave"
product_id = "aave-usdg"
protocol = "aave-v3"
asset = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8"
[[targets]]
chain_id = 196
contract = "0xE3F3Caefdd7180F884c01E57f65Df979Af84f116"
selectors = ["0x617ba037", "0x69328dec"]
what = "Aave"
product_id = "aave-usdt0"
protocol = "aave-v3"
asset = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"
[[targets]]
chain_id = 196
contract = "0x97e7620A3229b3daC7049C537B0E29DA2D1021E1"
selectors = ["0x6e553f65", "0xb460af94", "0xba087652"]
what = "a vault"
product_id = "stata-usdg"
protocol = "erc4626"
asset = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8"
"#;

/// The parts of a stage that outlive a process.
pub(crate) struct World {
    pub(crate) chain: DevChain,
    pub(crate) wallet: Address,
    pub(crate) yields: Arc<TestYields>,
    pub(crate) prices: Arc<TestPrices>,
    pub(crate) now: Arc<AtomicU64>,
    rpc: RpcServer,
    folder: TempDir,
}

/// The parts of a stage that end with a process.
pub(crate) struct Process {
    pub(crate) mover: Arc<WalletMover>,
    pub(crate) actions: WalletActions,
    pub(crate) turns: Turns,
    _sender: Sender,
}

impl World {
    /// Makes a world whose wallet holds this much idle USDG, and coins for gas.
    pub(crate) async fn with(atoms: u64) -> Self {
        Self::holding(&[(xlayer::USDG, atoms)]).await
    }

    pub(crate) async fn holding(tokens: &[(Address, u64)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let custody = custody(folder.path().join("wallets"));
        let wallet = custody.get_or_create(OWNER).await.unwrap().address;
        drop(custody);
        let now = Arc::new(AtomicU64::new(NOW));
        let of_chain = Arc::clone(&now);
        let builder = DevChain::builder()
            .xlayer_stage()
            .clock(move || of_chain.load(Ordering::SeqCst))
            .account(wallet, U256::from(10_u64.pow(18)));
        let funded = tokens.iter().fold(builder, |builder, (token, atoms)| {
            builder.holder(*token, wallet, U256::from(*atoms))
        });
        let chain = funded.build().unwrap();
        let rpc = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        let yields = TestYields(Mutex::new(vec![
            market(LENT, "aave-v3", xlayer::USDG, "3.5"),
            market(VAULT, "stata", xlayer::USDG, "3.6"),
            market(LENT_USDT0, "aave-v3", xlayer::USDT0, "9"),
        ]));
        Self {
            chain,
            wallet,
            yields: Arc::new(yields),
            prices: Arc::new(TestPrices(Mutex::new(Some(Decimal::ONE)))),
            now,
            rpc,
            folder,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a process over the files and the chain.
    pub(crate) fn process(&self) -> Process {
        let node = || -> Arc<dyn Transport> {
            let node = HttpTransport::new(&self.rpc.url().into(), Duration::from_secs(10));
            Arc::new(node.unwrap())
        };
        let policy = SigningPolicy::parse(TARGETS).unwrap();
        let of_sender = Arc::clone(&self.now);
        let sender = Sender::new(
            Arc::new(Records::open(self.path("sender.db")).unwrap()),
            vec![Chain {
                id: 196,
                nodes: vec![Arc::new(RpcNode::new(node()))],
                policy: Policy {
                    block_time: Duration::from_millis(50),
                    ..Policy::default()
                },
            }],
            Vec::new(),
            Options {
                takeover: Takeover::AtOnce,
                clock: Clock::new(move || of_sender.load(Ordering::SeqCst)),
                ..Options::default()
            },
        );
        let turns = Turns::default();
        let of_actions = Arc::clone(&self.now);
        let actions = WalletActions::start(Parts {
            custody: Arc::new(Guarded::new(custody(self.path("wallets")), policy.clone())),
            policy,
            chains: vec![ChainReader::new(196, vec![node()], 0)],
            sender: sender.clone(),
            turns: turns.clone(),
            store: Arc::new(SqliteStore::open(self.path("actions.db")).unwrap()),
            plans: Arc::new(Nothing),
            funding: GasFunding::none(),
            pace: Pace {
                look: Duration::from_millis(20),
                after_fault: Duration::from_millis(50),
                sweep: Duration::from_millis(50),
                ..Pace::default()
            },
            clock: Arc::new(move || of_actions.load(Ordering::SeqCst)),
        });
        let yields: Arc<dyn Yields> = self.yields.clone();
        let prices: Arc<dyn TokenPrices> = self.prices.clone();
        let mover = WalletMover::new(
            actions.clone(),
            Arc::downgrade(&yields),
            prices,
            Turns::default(),
        );
        Process {
            mover: Arc::new(mover),
            actions,
            turns,
            _sender: sender,
        }
    }

    pub(crate) fn balance(&self, token: Address) -> u64 {
        self.chain.balance_of(token, self.wallet).unwrap().to()
    }

    /// The wallet's money in the vault, in atoms of the asset.
    pub(crate) fn in_vault(&self) -> u64 {
        let shares = self.chain.balance_of(xlayer::STATA_USDG, self.wallet);
        let worth = dev_chain::abi::TokenVault::convertToAssetsCall {
            shares: shares.unwrap(),
        };
        self.chain.view(xlayer::STATA_USDG, &worth).unwrap().to()
    }

    pub(crate) fn act(&self, to: Address, call: &impl SolCall) {
        self.chain.call_as(MINTER.address, to, call).unwrap();
    }

    /// The number of transactions that the wallet has sent.
    pub(crate) fn sent(&self) -> usize {
        let all = self.chain.transactions();
        all.iter().filter(|mined| mined.from == self.wallet).count()
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn time(&self) -> Timestamp {
        let now = self.now.load(Ordering::SeqCst);
        Timestamp::from_second(i64::try_from(now).unwrap()).unwrap()
    }

    pub(crate) fn markets(&self) -> Vec<Market> {
        self.yields.0.lock().unwrap().clone()
    }

    /// Reads the wallet as a check does.
    pub(crate) async fn held(&self, process: &Process, mandate: &Mandate) -> Holdings {
        let markets = self.markets();
        process.mover.held(mandate, &markets).await.unwrap()
    }

    /// The move that the check with this number asks for.
    pub(crate) async fn proposal(
        &self,
        process: &Process,
        mandate: &Mandate,
        seq: u64,
    ) -> Option<Proposal> {
        let holdings = self.held(process, mandate).await;
        let markets = self.markets();
        let within = |market: &&Market| holdings.reachable.contains(&market.pool);
        let inputs = Inputs {
            checked_at: self.time(),
            allowed_protocols: mandate.rules.allowed_protocols.clone(),
            min_apy_delta_bps: mandate.rules.min_apy_delta_bps,
            snapshot: Some(Snapshot {
                id: "s".to_owned(),
                taken_at: self.time(),
                max_age_seconds: FRESH,
            }),
            baseline: None,
            best: best_allowed(markets.iter().filter(within), &mandate.rules),
            position: Some(holdings.position),
            bounds: None,
        };
        inputs.proposal(MoveKey::new(&mandate.id, seq), &mandate.rules)
    }
}

impl Process {
    /// Waits for the end of a move.
    pub(crate) async fn end(&self, key: &MoveKey) -> MoveOutcome {
        let ended = async || match self.mover.state(key).await {
            Ok(Some(MoveState::Ended(outcome))) => Some(outcome),
            _ => None,
        };
        eventually("the end of the move", ended).await
    }

    /// Asks for a move, and waits for its end.
    pub(crate) async fn run(&self, mandate: &Mandate, asked: &Proposal) -> MoveOutcome {
        self.mover.propose(mandate, asked).await.unwrap();
        self.end(&asked.key).await
    }
}

pub(crate) fn mandate(max_move_usd: &str) -> Mandate {
    Mandate {
        id: "ab".repeat(16),
        owner: OWNER.to_string().to_lowercase(),
        rules: Rules {
            min_apy_delta_bps: 50,
            max_slippage_bps: 50,
            max_move_usd: max_move_usd.parse().unwrap(),
            allowed_protocols: vec!["aave-v3".to_owned(), "stata".to_owned()],
            check_interval: 3_600,
            max_moves_per_day: 24,
            min_gain_usd: "0".parse().unwrap(),
        },
        mode: Mode::Auto,
        created_at: Timestamp::from_second(i64::try_from(NOW).unwrap()).unwrap(),
        expires_at: Timestamp::from_second(i64::try_from(NOW + 90_000).unwrap()).unwrap(),
        last_check_at: None,
        ended: None,
    }
}

fn custody(folder: PathBuf) -> LocalCustody {
    LocalCustody::open_weakly_stretched(&folder, "the operator's secret".into()).unwrap()
}

pub(crate) fn market(pool: &str, project: &str, asset: Address, apy: &str) -> Market {
    Market {
        pool: pool.to_owned(),
        chain: "X Layer".to_owned(),
        chain_id: Some(196),
        project: project.to_owned(),
        symbol: "USD".to_owned(),
        apy_pct: apy.parse().unwrap(),
        apy_base_pct: None,
        apy_reward_pct: None,
        tvl_usd: "50000000".parse().unwrap(),
        il_risk: Some("no"),
        stablecoin: Some(true),
        risk_grade: Grade::A,
        why: Vec::new(),
        source: "defillama",
        also_reported: vec![Other {
            source: "okx.defi",
            pool: "1".to_owned(),
            apy_pct: apy.parse().unwrap(),
        }],
        underlying: vec![asset.to_string()],
        single_asset: Some(true),
        reward_known: true,
    }
}

/// The pools that a wallet can reach.
pub(crate) fn pools(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The transaction and the amount of a move.
pub(crate) fn moved(outcome: &MoveOutcome) -> (B256, String) {
    match outcome {
        MoveOutcome::Moved {
            tx_hash, moved_usd, ..
        } => (*tx_hash, moved_usd.to_string()),
        other => panic!("{other:?}"),
    }
}
