//! A payment path in a scripted environment: the test sets the behaviour of the settler, the work,
//! the journal and the time. Catalog, payments and signatures are real.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256};
use bytes::Bytes;
use credit::{Cost, Refill, Rules};
use http_edge::RequestIds;
use ledger::{Allowance, Journal, Options, PaymentRecord, RequestBinding};
use route_catalog::{Catalog, CatalogConfig, Operation};
use x402_wire::{Asset, Network, PaymentPayload, PaymentRequirements, Scheme, Terms};

use super::model_journal::ModelJournal;
use super::payer::{Order, Payer, written};
use super::script::{Script, ScriptedSettler, ScriptedWorker};
use crate::payment::{
    CreditPolicy, Declined, Delivered, Ended, PaidCall, PaymentPolicy, PaymentProcessor, Refusal,
    Request,
};

/// The cost of a call that ends without a paid answer.
pub(super) const VERIFICATION: u64 = 100;
/// The amount that is held for a call of the cheapest operation.
pub(super) const HELD: u64 = 900;
/// The cost of a failed transaction.
pub(super) const TRANSACTION: u64 = 500;
/// The most credit of a payer.
const CAP: u64 = 5_000;

pub(super) struct Stage {
    pub(super) processor: PaymentProcessor<ScriptedSettler, ModelJournal, ScriptedWorker>,
    pub(super) journal: ModelJournal,
    pub(super) script: Arc<Script>,
    pub(super) catalog: Arc<Catalog>,
    nonces: AtomicU64,
    ids: RequestIds,
}

/// The terms of the stage, unless a test sets others.
pub(super) fn terms() -> Terms {
    Terms {
        network: Network::evm(196),
        pay_to: Address::repeat_byte(0x91),
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    }
}

fn allowance(capacity: u64, per_second: u64) -> Allowance {
    Allowance {
        capacity,
        per_second,
    }
}

fn policy(pool: u64) -> PaymentPolicy {
    let cost = Cost::micro_usd;
    let refill = |capacity, per_second| Refill {
        capacity: cost(capacity),
        per_second: cost(per_second),
    };
    let calls = u64::from(Operation::CryptoNews.most_calls().upstream);
    PaymentPolicy {
        settle_budget_seconds: 40,
        settle_guard: Duration::from_secs(60),
        transaction_retention: Duration::from_secs(90 * 86_400),
        private_answer_seconds: 3_600,
        deferred_seconds: 600,
        credit: CreditPolicy {
            upstream_call: cost((HELD - VERIFICATION) / calls),
            model_call: cost(2_500),
            verification: cost(VERIFICATION),
            transaction: cost(TRANSACTION),
            kept: cost(TRANSACTION),
            newcomers: Rules {
                pool: refill(pool, 1),
                address: refill(1, 1),
            },
            cap: cost(CAP),
        },
    }
}

fn catalog(terms: Terms) -> Arc<Catalog> {
    let config = CatalogConfig {
        public_url: "https://api.example.test".to_owned(),
        brand: "stage".to_owned(),
        contact: None,
        terms,
        bazaar_in_header: false,
    };
    Arc::new(Catalog::new(&config).unwrap())
}

impl Stage {
    /// Makes a stage on which everything succeeds and newcomers have plenty.
    pub(super) fn new() -> Self {
        Self::with(Script::default(), 1_000_000)
    }

    /// Makes a stage with another script and this newcomers' pool.
    pub(super) fn with(script: Script, pool: u64) -> Self {
        let journal = ModelJournal::taking_turns(Options {
            credit_cap_micro_usd: CAP,
            pool: allowance(pool, 1),
            address_share: allowance(1, 1),
            ..Options::default()
        });
        Self::over(journal, Arc::new(script), terms(), pool)
    }

    fn over(journal: ModelJournal, script: Arc<Script>, terms: Terms, pool: u64) -> Self {
        let catalog = catalog(terms);
        let processor = PaymentProcessor::new(
            Arc::clone(&catalog),
            ScriptedSettler(Arc::clone(&script)),
            journal.clone(),
            ScriptedWorker(Arc::clone(&script)),
            policy(pool),
            script.clock(),
        );
        Self {
            processor,
            journal,
            script,
            catalog,
            nonces: AtomicU64::new(1),
            ids: RequestIds::new(),
        }
    }

    /// Makes the next process of the server, with other terms: it knows only what the journal
    /// knows.
    pub(super) fn restarted(&self, terms: Terms) -> Self {
        let (journal, script) = (self.journal.clone(), Arc::clone(&self.script));
        let nonces = AtomicU64::new(self.nonces.load(Ordering::SeqCst));
        Self {
            nonces,
            ..Self::over(journal, script, terms, 1_000_000)
        }
    }

    /// Makes another server on the same journal, as the instance with this number.
    pub(super) fn as_server(&self, number: i64) -> Self {
        let journal = self.journal.of_instance(number);
        Self::over(journal, Arc::clone(&self.script), terms(), 1_000_000)
    }

    /// The option of the cheapest operation with a scheme.
    pub(super) fn option(&self, scheme: Scheme) -> PaymentRequirements {
        let mut options = self.catalog.offer(Operation::CryptoNews).options();
        options
            .find(|option| option.scheme == scheme)
            .unwrap()
            .clone()
    }

    /// The order of a payer for an operation.
    pub(super) fn order_of(&self, operation: Operation) -> Order {
        let mut options = self.catalog.offer(operation).options();
        let exact = options.find(|option| option.scheme == Scheme::Exact);
        Order {
            option: exact.unwrap().clone(),
            ..self.order()
        }
    }

    /// The order of a payer for the cheapest operation: valid for 100 seconds, and new every time.
    /// Its identifier makes it another purchase than every other order.
    pub(super) fn order(&self) -> Order {
        let number = self.nonces.fetch_add(1, Ordering::SeqCst);
        Order {
            option: self.option(Scheme::Exact),
            nonce: B256::left_padding_from(&number.to_be_bytes()),
            valid_before: self.script.now() + 100,
            payment_id: Some(format!("order-{number:016}")),
        }
    }

    /// The same without an identifier: two of them are the same purchase for the same request.
    pub(super) fn plain_order(&self) -> Order {
        Order {
            payment_id: None,
            ..self.order()
        }
    }

    /// Makes a contract wallet's payment. Its signature is longer than a key's.
    pub(super) fn of_wallet(&self, number: u8) -> PaymentPayload {
        written(Address::repeat_byte(number), &self.order(), &[7; 66])
    }

    pub(super) fn sign(&self, payer: &Payer) -> PaymentPayload {
        payer.sign(&self.order())
    }

    /// Sends a payment for the cheapest operation.
    pub(super) async fn buy(&self, payment: &PaymentPayload) -> Ended {
        self.buy_with(None, payment).await
    }

    /// Sends a payment for the same operation with a query, which is another request.
    pub(super) async fn buy_with(&self, query: Option<&str>, payment: &PaymentPayload) -> Ended {
        self.buy_of(Operation::CryptoNews, query, payment).await
    }

    /// Sends a payment for an operation.
    pub(super) async fn buy_of(
        &self,
        operation: Operation,
        query: Option<&str>,
        payment: &PaymentPayload,
    ) -> Ended {
        let request = self.request(operation, query, "");
        self.buy_request(request, payment).await
    }

    /// A request for an operation that takes a body.
    pub(super) fn request_of(&self, operation: Operation, body: &'static str) -> Request {
        self.request(operation, None, body)
    }

    fn request(&self, operation: Operation, query: Option<&str>, body: &'static str) -> Request {
        let route = operation.route();
        let (method, body) = (route.method.as_str(), Bytes::from_static(body.as_bytes()));
        Request {
            id: self.ids.next_id(),
            operation,
            query: query.map(str::to_owned),
            max_age: Ok(None),
            client: None,
            binding: RequestBinding::new(method, route.path, query, &body),
            body,
        }
    }

    /// Sends a payment for a request.
    pub(super) async fn buy_request(&self, request: Request, payment: &PaymentPayload) -> Ended {
        let call = PaidCall::new(request, payment);
        self.processor.process(call, payment.clone()).await
    }

    /// Buys once, so that the payer has credit.
    pub(super) async fn make_regular(&self, payer: &Payer) {
        served(self.buy(&self.sign(payer)).await);
        self.script.forget();
    }

    pub(super) async fn record(&self, payment: &PaymentPayload) -> Option<PaymentRecord> {
        let key = payment.authorization_key().unwrap();
        self.journal.look_up(&key).await.unwrap()
    }

    pub(super) async fn credit(&self, payer: &Payer) -> u64 {
        self.credit_of(payer.address()).await
    }

    pub(super) async fn credit_of(&self, payer: Address) -> u64 {
        self.journal.credit(payer).await.unwrap()
    }

    /// The sum that is missing in the newcomers' pool by the journal.
    pub(super) async fn missing_of_pool(&self) -> u64 {
        let missing = self.journal.missing(self.script.now()).await;
        missing.unwrap().pool
    }

    /// The payer's credit as the processor knows it, and the held part of it.
    pub(super) fn known_credit(&self, payer: &Payer) -> Option<(u64, u64)> {
        self.processor.credit().account(payer.address())
    }

    /// Waits for the end of every task.
    pub(super) async fn finish(&self) {
        while !self.processor.shared.tasks.is_empty() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

pub(super) fn served(ended: Ended) -> Delivered {
    match ended {
        Ended::Delivered(delivered) => delivered,
        Ended::Refused(refusal) => panic!("{refusal:?}"),
    }
}

pub(super) fn refused(ended: Ended) -> Refusal {
    match ended {
        Ended::Refused(refusal) => refusal,
        Ended::Delivered(delivered) => panic!("{delivered:?}"),
    }
}

pub(super) fn declined(ended: Ended) -> Declined {
    match refused(ended) {
        Refusal::Declined(declined) => declined,
        other => panic!("{other:?}"),
    }
}
