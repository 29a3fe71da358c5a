//! Tests of top-ups on a chain, in simulated time.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use chain_reader::ChainReader;
use custody::Owner;
use dev_chain::rollup::GAS_PRICE_ORACLE;
use dev_chain::{Contract, DEV_ACCOUNTS, DevChain, Mining, Reply};
use gas_funding::{
    Book as _, Budget, CoinPrices, Funder, Funds, GasFunding, Limits, MemoryBook, Need, NotGiven,
    OwnPayment, PaidTotals, Parts, PortFuture, TopUp, Workload,
};
use test_support::eventually_every;
use tx_sender::{
    Chain, LocalKey, MemoryStore, NodeFault, Options, Policy, RpcNode, Sender, Takeover, Transport,
};

const PAYER: Address = Address::repeat_byte(0x77);
const WORKLOAD: Workload = Workload {
    gas: 100_000,
    transactions: 2,
    input_bytes: 68,
};

struct InProcess(DevChain);

impl Transport for InProcess {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(async move {
            match self.0.answer(&body) {
                Reply::Http { body, .. } => Ok(body),
                _ => Err(NodeFault::Lost { method }),
            }
        })
    }
}

#[derive(Default)]
struct Ports {
    coin_usd: Mutex<Option<u64>>,
    paid: Mutex<u64>,
    unsettled: Mutex<Option<B256>>,
}

impl CoinPrices for Ports {
    fn micro_usd(&self, _: u64, wei: U256) -> PortFuture<'_, Option<u64>> {
        let worth = |dollars| (wei * U256::from(dollars)).div_ceil(U256::from(10_u64.pow(12)));
        let micro = self
            .coin_usd
            .lock()
            .unwrap()
            .map(|dollars| worth(dollars).to());
        Box::pin(std::future::ready(micro))
    }
}

impl PaidTotals for Ports {
    fn paid(&self, _: Owner) -> PortFuture<'_, Option<u64>> {
        Box::pin(std::future::ready(Some(*self.paid.lock().unwrap())))
    }

    fn is_unsettled(&self, payment: B256) -> PortFuture<'_, bool> {
        let unsettled = *self.unsettled.lock().unwrap() == Some(payment);
        Box::pin(std::future::ready(unsettled))
    }
}

struct World {
    chain: DevChain,
    reader: ChainReader,
    records: Arc<MemoryStore>,
    book: Arc<MemoryBook>,
    ports: Arc<Ports>,
    most_wei: U256,
    of_chain_wei: U256,
}

impl World {
    fn new() -> Self {
        let builder = DevChain::builder().mining(Mining::Manual);
        let funder = (DEV_ACCOUNTS[2].address, U256::from(10_u64.pow(18)));
        let builder = builder.account(funder.0, funder.1);
        let builder = builder.contract(GAS_PRICE_ORACLE, Contract::GasPriceOracle);
        let chain = builder.account(PAYER, U256::ZERO).build().unwrap();
        for _ in 0..3 {
            chain.mine();
        }
        let node: Arc<dyn Transport> = Arc::new(InProcess(chain.clone()));
        let ports = Ports::default();
        *ports.paid.lock().unwrap() = u64::MAX;
        *ports.coin_usd.lock().unwrap() = Some(10);
        Self {
            reader: ChainReader::new(196, vec![node], 0),
            chain,
            records: Arc::default(),
            book: Arc::default(),
            ports: Arc::new(ports),
            most_wei: U256::MAX,
            of_chain_wei: U256::MAX,
        }
    }

    fn process(&self) -> (GasFunding, Sender) {
        let node: Arc<dyn Transport> = Arc::new(InProcess(self.chain.clone()));
        let network = Chain {
            id: 196,
            nodes: vec![Arc::new(RpcNode::new(node))],
            policy: Policy::default(),
        };
        let key = alloy_primitives::hex::encode(DEV_ACCOUNTS[2].key);
        let key = LocalKey::from_hex(&key.into()).unwrap();
        let sender = Sender::new(
            Arc::<MemoryStore>::clone(&self.records),
            vec![network],
            vec![Arc::new(key)],
            Options {
                takeover: Takeover::AtOnce,
                ..Options::default()
            },
        );
        let funding = GasFunding::new(Parts {
            funder: Funder {
                account: DEV_ACCOUNTS[2].address,
                most_wei: self.most_wei,
                of_owner: u64::MAX,
                of_all: u64::MAX,
                of_chain_wei: self.of_chain_wei,
            },
            sender: sender.clone(),
            book: Arc::<MemoryBook>::clone(&self.book),
            prices: Arc::<Ports>::clone(&self.ports),
            paid: Arc::<Ports>::clone(&self.ports),
            clock: Arc::new(|| 1_000),
        });
        (funding, sender)
    }

    async fn ask(&self, funding: &GasFunding, payer: Address, owner: Option<Owner>) -> Funds {
        self.demand(funding, payer, owner, U256::ZERO).await
    }

    /// Asks for the gas of the work, and for at least this balance.
    async fn demand(
        &self,
        funding: &GasFunding,
        payer: Address,
        owner: Option<Owner>,
        least: U256,
    ) -> Funds {
        let need = Need {
            chain: &self.reader,
            block: self.reader.sealed(0).await.unwrap().block,
            payer,
            workload: WORKLOAD,
            least,
            owner,
            account: PAYER,
            payment: Some(OWN),
            not_after: None,
            turn: None,
            key: &|number| format!("it/{number}"),
        };
        funding.fund(need).await.unwrap()
    }

    /// Asks again until the account holds enough.
    async fn until_enough(&self, funding: &GasFunding) {
        let enough = async || {
            self.chain.mine();
            let asked = self.ask(funding, PAYER, Some(owner())).await;
            (asked == Funds::Enough).then_some(())
        };
        eventually_every(Duration::from_secs(1), "the coins come", enough).await;
    }
}

/// A payment that covers every top-up of these tests.
const OWN: OwnPayment = OwnPayment {
    digest: B256::repeat_byte(0x77),
    micro_usd: 1_000_000_000,
};

fn owner() -> Owner {
    Owner::new(196, Address::repeat_byte(0x51))
}

#[tokio::test(start_paused = true)]
async fn missing_coins_are_given_once() {
    let world = World::new();
    let (funding, _sender) = world.process();
    world.until_enough(&funding).await;
    let booked = world.book.all();
    assert_eq!(booked.len(), 1);
    assert_eq!(booked[0].key, "it/0");
    assert_eq!(world.chain.native_balance(PAYER), booked[0].wei);
}

/// The process ends after the booking and before the transfer is handed to the sender, and the fees
/// double meanwhile. The next process sends the booked amount, and books the rest under the next
/// key.
#[tokio::test(start_paused = true)]
async fn the_booked_amount_is_sent() {
    let world = World::new();
    let wei = U256::from(12_345);
    let booked = TopUp {
        key: "it/0".to_owned(),
        owner: owner(),
        account: PAYER,
        at: 1_000,
        chain_id: 196,
        wei,
        micro_usd: 1,
    };
    let limits = Limits {
        of_owner: 1,
        paid_by_owner: 1,
        of_all: 1,
        of_chain_wei: U256::MAX,
    };
    world.book.book(booked, limits).await.unwrap();
    let (funding, sender) = world.process();
    world.until_enough(&funding).await;
    let sent = sender.find("it/0").await.unwrap().unwrap();
    assert_eq!(sent.request.value, wei);
    let booked = world.book.all();
    assert_eq!(booked.len(), 2);
    let all: U256 = booked.iter().map(|it| it.wei).sum();
    assert_eq!(world.chain.native_balance(PAYER), all);
    // A restarted process gives nothing more.
    let (again, _sender) = world.process();
    assert_eq!(world.ask(&again, PAYER, Some(owner())).await, Funds::Enough);
    assert_eq!(world.book.all().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_top_up_has_its_reason() {
    let mut world = World::new();
    let funder = DEV_ACCOUNTS[2].address;
    let missing = |why| Funds::Missing(why);
    let nobody = GasFunding::none();
    let asked = world.ask(&nobody, PAYER, Some(owner())).await;
    assert_eq!(asked, missing(NotGiven::NoGasAccount));
    let (funding, _sender) = world.process();
    // The funding account holds enough, and does not top itself up.
    assert_eq!(
        world.ask(&funding, funder, Some(owner())).await,
        Funds::Enough
    );
    let asked = world.ask(&funding, PAYER, None).await;
    assert_eq!(asked, missing(NotGiven::OwnerUnknown));

    *world.ports.paid.lock().unwrap() = 0;
    let asked = world.ask(&funding, PAYER, Some(owner())).await;
    assert_eq!(
        asked,
        missing(NotGiven::BudgetExhausted(Budget::PaidByOwner))
    );
    // Only the payment for the work counts, and only until it is settled.
    for other in [None, Some(B256::ZERO)] {
        *world.ports.unsettled.lock().unwrap() = other;
        let asked = world.ask(&funding, PAYER, Some(owner())).await;
        let why = NotGiven::BudgetExhausted(Budget::PaidByOwner);
        assert_eq!(asked, missing(why));
    }
    *world.ports.coin_usd.lock().unwrap() = None;
    let asked = world.ask(&funding, PAYER, Some(owner())).await;
    let why = NotGiven::PriceUnavailable(Budget::PaidByOwner);
    assert_eq!(asked, missing(why));
    assert_eq!(why.code(), "coin_price_unavailable");

    world.most_wei = U256::from(1);
    let (funding, _sender) = world.process();
    let asked = world.ask(&funding, PAYER, Some(owner())).await;
    assert_eq!(asked, missing(NotGiven::TooLarge));
    let block = world.reader.sealed(0).await.unwrap().block;
    let lacking = funding.lacking(&world.reader, block, PAYER, WORKLOAD).await;
    assert_eq!(lacking.unwrap().unwrap().why, NotGiven::TooLarge);
    assert!(world.book.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_payment_for_the_work_counts_until_it_is_settled() {
    let world = World::new();
    *world.ports.paid.lock().unwrap() = 0;
    *world.ports.unsettled.lock().unwrap() = Some(OWN.digest);
    let (funding, _sender) = world.process();
    world.until_enough(&funding).await;
    assert_eq!(world.book.all().len(), 1);
}

/// The nodes of a rollup demand its fees from the balance, twice as much here: they may rise.
#[tokio::test(start_paused = true)]
async fn the_fees_of_a_rollup_are_given_too() {
    let world = World::new();
    let (data, operator) = (U256::from(10_u64.pow(12)), U256::from(7));
    let (funding, _sender) = world.process();
    world.chain.set_rollup_fees(data, operator).unwrap();
    world.until_enough(&funding).await;
    let price = world.reader.gas_price().await.unwrap();
    let gas = U256::from(WORKLOAD.gas) * U256::from(price);
    let fees = U256::from(WORKLOAD.transactions) * (data + operator);
    let balance = world.chain.native_balance(PAYER);
    assert_eq!(balance, (gas + fees) * U256::from(2));
    assert_eq!(world.book.all().len(), 1);
}

/// A node refuses a transaction for lack of coins although the account holds what is counted here.
#[tokio::test(start_paused = true)]
async fn the_balance_that_a_node_demands_is_given_in_another_top_up() {
    let world = World::new();
    let (funding, _sender) = world.process();
    world.until_enough(&funding).await;
    let least = world.chain.native_balance(PAYER) + U256::from(1_000_000);
    let demand = || world.demand(&funding, PAYER, Some(owner()), least);
    assert_eq!(demand().await, Funds::Coming);
    let enough = async || {
        world.chain.mine();
        (demand().await == Funds::Enough).then_some(())
    };
    eventually_every(Duration::from_secs(1), "the coins come", enough).await;
    assert_eq!(world.chain.native_balance(PAYER), least);
    let booked = world.book.all();
    assert_eq!(booked.len(), 2);
    assert_eq!(booked[1].wei, U256::from(1_000_000));
}

#[tokio::test(start_paused = true)]
async fn what_a_node_demands_is_limited_too() {
    let mut world = World::new();
    world.most_wei = U256::from(10_u64.pow(16));
    let (funding, _sender) = world.process();
    let lie = U256::from(10_u64.pow(17));
    let asked = world.demand(&funding, PAYER, Some(owner()), lie).await;
    assert_eq!(asked, Funds::Missing(NotGiven::TooLarge));
    world.most_wei = U256::MAX;
    world.of_chain_wei = U256::from(10_u64.pow(16));
    // Also without a price: no price would change it.
    for price in [Some(10), None] {
        *world.ports.coin_usd.lock().unwrap() = price;
        let (funding, _sender) = world.process();
        let asked = world.demand(&funding, PAYER, Some(owner()), lie).await;
        let why = NotGiven::BudgetExhausted(Budget::OfChain);
        assert_eq!(asked, Funds::Missing(why));
        assert_eq!(why.code(), "gas_budget_exhausted");
    }
    assert!(world.book.all().is_empty());
}
