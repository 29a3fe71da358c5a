//! Settlements of our own, with 1, 8 and 64 in flight: against a loop that signs and sends one after the other, keeps nothing, and asks
//! for each receipt by itself, as a settler without a sender does. Both on one chain, which is a process of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::{B256, Bytes, U256, hex};
use dev_chain::{BUYER, GAS_PAYER, PAYEE};
use rand::RngCore as _;
use rustix::time::{ClockId, clock_gettime};
use secp256k1::{Message, Secp256k1, SecretKey};
use settlement::{
    ChainOptions, ChainReader, GasPolicy, OnchainSettler, Settlement, Settler, Timeouts,
};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tx_sender::{
    Fees, HttpTransport, LocalKey, Node, RpcNode, SqliteStore, TransactionSigner, Unsigned,
};
use x402_wire::{Asset, Authorization, MicroUsd, Network, Payment, PaymentPayload, Terms};

use super::site::Site;
use super::{Effort, middle};
use crate::BenchError;
use crate::measure::{Quantity, Ratio};
use crate::report::{Amount, Finding, Limit, Report};

const BASELINE: &str = "sent one after the other, nothing kept";

/// The names of the findings, with how many are in flight and how much longer than the baseline a settlement may take. What is kept
/// costs several durable writes, which those in flight share.
const GROUPS: [(&str, &str, usize, u64); 3] = [
    (
        "settlement, 1 in flight",
        "settlement, 1 in flight, CPU",
        1,
        4_000,
    ),
    (
        "settlement, 8 in flight",
        "settlement, 8 in flight, CPU",
        8,
        2_000,
    ),
    (
        "settlement, 64 in flight",
        "settlement, 64 in flight, CPU",
        64,
        1_500,
    ),
];

/// Of a settlement's processor time: estimates, proofs and durable records are not part of the baseline.
const MOST_CPU: Ratio = Ratio::thousandths(8_000);

/// As short on both sides: what is measured is not how long a block takes.
const POLL: Duration = Duration::from_millis(2);

/// What a settlement took and cost.
#[derive(Clone, Copy)]
struct Cost {
    time: Quantity,
    cpu: Quantity,
}

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    for (name, cpu_name, in_flight, most) in GROUPS {
        let (mut ours, mut base) = (Vec::new(), Vec::new());
        let count = (effort.paid / 64).max(in_flight.saturating_mul(2));
        for round in 0..=effort.rounds {
            let node = site.dev_node()?;
            let url = format!("http://{}", node.address());
            let theirs = Arc::new(Plain::new(&url)?);
            let theirs = measured(count, in_flight, move |payment| {
                let theirs = Arc::clone(&theirs);
                async move { theirs.settle(&payment).await }
            });
            let theirs = theirs.await?;
            node.stop()?;

            let node = site.dev_node()?;
            let url = format!("http://{}", node.address());
            let file = site.file(&format!("settling-{in_flight}-{round}.db"));
            let settler = Arc::new(settler(&url, file).await?);
            let own = measured(count, in_flight, move |payment| {
                let settler = Arc::clone(&settler);
                async move {
                    match settler.settle(&payment).await {
                        Settlement::Settled(_) => Ok(()),
                        _ => Err(BenchError::Answer { what: "settlement" }),
                    }
                }
            });
            let own = own.await?;
            node.stop()?;
            // The first round warms both up.
            if round > 0 {
                ours.push(own);
                base.push(theirs);
            }
        }
        let of = |costs: &[Cost], part: fn(&Cost) -> Quantity| {
            middle(&costs.iter().map(part).collect::<Vec<_>>())
        };
        let time = |costs: &[Cost]| Amount::Time(Duration::from_nanos(of(costs, |cost| cost.time)));
        let cpu = |costs: &[Cost]| Amount::Cpu(of(costs, |cost| cost.cpu));
        report.add(Finding {
            name,
            ours: time(&ours),
            limit: Limit::Times(Ratio::thousandths(most), BASELINE, time(&base)),
        });
        report.add(Finding {
            name: cpu_name,
            ours: cpu(&ours),
            limit: Limit::Times(MOST_CPU, BASELINE, cpu(&base)),
        });
    }
    Ok(())
}

/// Settles so many payments, so many at a time; the time and the processor time of this process for each.
async fn measured<F, T>(count: usize, in_flight: usize, settle: F) -> Result<Cost, BenchError>
where
    F: Fn(Payment) -> T,
    T: Future<Output = Result<(), BenchError>> + Send + 'static,
{
    let payments: Vec<Payment> = (0..count).map(|_| payment()).collect::<Result<_, _>>()?;
    let (began, used) = (Instant::now(), process_nanos());
    let (mut settling, mut done) = (JoinSet::new(), 0_usize);
    for payment in payments {
        if settling.len() >= in_flight {
            done = done.saturating_add(ended(settling.join_next().await)?);
        }
        settling.spawn(settle(payment));
    }
    while let Some(settled) = settling.join_next().await {
        done = done.saturating_add(ended(Some(settled))?);
    }
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let used = process_nanos().saturating_sub(used);
    let done = u64::try_from(done).unwrap_or(u64::MAX).max(1);
    Ok(Cost {
        time: took / done,
        cpu: used / done,
    })
}

fn ended(
    settled: Option<Result<Result<(), BenchError>, tokio::task::JoinError>>,
) -> Result<usize, BenchError> {
    match settled {
        Some(Ok(Ok(()))) => Ok(1),
        Some(Ok(Err(error))) => Err(error),
        _ => Err(BenchError::Answer { what: "settlement" }),
    }
}

/// The processor time that this process has used so far, in nanoseconds.
fn process_nanos() -> Quantity {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds
        .unwrap_or_default()
        .saturating_mul(1_000_000_000)
        .saturating_add(nanos.unwrap_or_default())
}

fn timeouts() -> Timeouts {
    Timeouts {
        poll_interval: POLL,
        ..Timeouts::default()
    }
}

async fn settler(url: &str, file: std::path::PathBuf) -> Result<OnchainSettler, BenchError> {
    let unusable = |what| move |_| BenchError::Answer { what };
    let records = SqliteStore::open(file).map_err(|_| BenchError::Answer { what: "records" })?;
    let options = ChainOptions::default();
    let chain = ChainReader::new(&url.to_owned().into(), &terms(), timeouts(), options)
        .map_err(unusable("chain"))?;
    let (key, policy) = (hex::encode(GAS_PAYER.key), GasPolicy::default());
    OnchainSettler::recorded(chain, &key.into(), timeouts(), policy, Arc::new(records))
        .await
        .map_err(unusable("settler"))
}

/// The least that settles: a nonce in memory, one transaction handed over after the other, each receipt asked for by itself.
struct Plain {
    node: RpcNode,
    key: LocalKey,
    next: Mutex<u64>,
}

impl Plain {
    fn new(url: &str) -> Result<Self, BenchError> {
        let unusable = BenchError::Answer { what: "node" };
        let Ok(http) = HttpTransport::new(&url.to_owned().into(), Duration::from_secs(10)) else {
            return Err(unusable);
        };
        let Ok(key) = LocalKey::from_hex(&hex::encode(GAS_PAYER.key).into()) else {
            return Err(unusable);
        };
        Ok(Self {
            node: RpcNode::new(Arc::new(http)),
            key,
            next: Mutex::new(0),
        })
    }

    async fn settle(&self, payment: &Payment) -> Result<(), BenchError> {
        let lost = |_| BenchError::Answer { what: "node" };
        let mut next = self.next.lock().await;
        let head = self.node.head().await.map_err(lost)?;
        let tip = self.node.priority_fee().await.map_err(lost)?;
        let base = head.base_fee.unwrap_or_default();
        let unsigned = Unsigned {
            chain_id: 196,
            nonce: *next,
            to: payment.requirements().asset,
            value: U256::ZERO,
            input: input(payment),
            gas_limit: 200_000,
            fees: Fees::Dynamic {
                max: base.saturating_mul(2).saturating_add(tip),
                tip,
            },
        };
        let unsigned_answer = || BenchError::Answer { what: "signature" };
        let raw = self
            .key
            .sign(&unsigned)
            .await
            .map_err(|_| unsigned_answer())?;
        let checked = tx_sender::check(&raw, &unsigned, self.key.account());
        let hash = checked.map_err(|_| unsigned_answer())?.hash;
        self.node.send(raw).await.map_err(lost)?;
        *next = next.saturating_add(1);
        drop(next);
        loop {
            if let Some(receipt) = self.node.receipt(hash).await.map_err(lost)? {
                let block = self.node.block(receipt.number).await.map_err(lost)?;
                if receipt.succeeded && block.is_some_and(|block| block.hash == receipt.block) {
                    return Ok(());
                }
                return Err(BenchError::Answer { what: "receipt" });
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

alloy_sol_types::sol! {
    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
        uint8 v, bytes32 r, bytes32 s
    ) external;
}

fn input(payment: &Payment) -> Bytes {
    use alloy_sol_types::SolCall as _;
    let authorization = payment.authorization();
    let signature = payment.wallet_signature().unwrap_or_default();
    let word = |at: usize| {
        let word = signature.get(at..at.saturating_add(32));
        word.map(B256::from_slice).unwrap_or_default()
    };
    transferWithAuthorizationCall {
        from: authorization.from,
        to: authorization.to,
        value: authorization.value,
        validAfter: authorization.valid_after,
        validBefore: authorization.valid_before,
        nonce: authorization.nonce,
        v: signature.last().copied().unwrap_or_default(),
        r: word(0),
        s: word(32),
    }
    .abi_encode()
    .into()
}

fn terms() -> Terms {
    Terms {
        network: Network::evm(196),
        pay_to: PAYEE.address,
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    }
}

/// A payment of the chain's buyer, with a nonce of its own.
fn payment() -> Result<Payment, BenchError> {
    let unusable = || BenchError::Answer { what: "payment" };
    let terms = terms();
    let offer = terms.offer(MicroUsd::dollars("0.001"));
    let requirements = offer.options().next().ok_or_else(unusable)?;
    let mut nonce = B256::ZERO;
    rand::rng().fill_bytes(nonce.as_mut_slice());
    let authorization = Authorization {
        from: BUYER.address,
        to: PAYEE.address,
        value: requirements.amount,
        valid_after: U256::ZERO,
        valid_before: U256::from(u64::MAX / 2),
        nonce,
    };
    let digest = authorization.digest(requirements.domain_separator());
    let key = SecretKey::from_byte_array(BUYER.key.0)?;
    let signed = Secp256k1::new().sign_ecdsa_recoverable(Message::from_digest(digest.0), &key);
    let (id, compact) = signed.serialize_compact();
    let v = u8::try_from(i32::from(id)).unwrap_or_default();
    let signature = hex::encode_prefixed([&compact[..], &[v.saturating_add(27)]].concat());
    let payload = serde_json::json!({
        "x402Version": 2,
        "accepted": serde_json::from_str::<serde_json::Value>(&requirements.to_json())?,
        "payload": { "signature": signature, "authorization": authorization },
    });
    let payload =
        PaymentPayload::from_json(payload.to_string().as_bytes()).map_err(|_| unusable())?;
    Payment::matching(&offer, payload).map_err(|_| unusable())
}
