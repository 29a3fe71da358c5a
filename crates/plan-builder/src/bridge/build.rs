//! Builds a bridge plan from a request and current readings.

use calldata_checks::bridge::{Asked, TransferSpeed, fees::RouteFees};

use super::{
    BridgeRail, BridgeRequest, account,
    join::join,
    min_fee, off_route,
    payload::{BridgePayload, Readings, fee_unknown},
};
use crate::{
    Moment, Policy, Refusal, Sealed,
    ports::{Accounts, BridgeFees, Simulator},
    seal::Judged,
    wire::StepRecord,
};

/// Builds, checks and seals a bridge plan.
///
/// # Errors
/// The name of the first check that does not hold. `quote_unavailable`, `quote_malformed` or
/// `rate_limited` when the fees cannot be read. `simulation_as_planned`.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, Bytes, U256, address};
/// use plan_builder::bridge::{self, BridgeRequest};
/// use plan_builder::ports::{Accounts, BridgeFeeReading, BridgeFees, NoSimulator, PortError};
/// use plan_builder::{Moment, Refusal, Request, verify};
/// # use plan_builder::{AccountProfile, FeeDocument, Policy};
///
/// struct Fees;
/// impl BridgeFees for Fees {
///     async fn fees(&self, _: u32, _: u32, _: bool) -> Result<BridgeFeeReading, PortError> {
///         Ok(BridgeFeeReading {
///             fast_bps: Some("1.3".parse().unwrap()),
///             standard_bps: "0".parse().unwrap(),
///             forward_fee: None,
///             read_at: "2026-09-21T14:13:20Z".parse().unwrap(),
///         })
///     }
///     async fn fast_allowance(&self) -> Result<U256, PortError> {
///         Ok(U256::from(52_000_000_000_000_u64))
///     }
/// }
/// struct Node; // `eth_getCode` and `eth_call` of each chain
/// impl Accounts for Node {
///     async fn code(&self, _: u64, _: Address) -> Result<Bytes, PortError> {
///         Ok(Bytes::new())
///     }
///     async fn call(&self, _: u64, _: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
///         Ok(None) // it reverts
///     }
/// }
/// # macro_rules! file {
/// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
/// # }
/// # fn ready<T>(future: impl Future<Output = T>) -> T {
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut context) {
/// #         std::task::Poll::Ready(output) => output,
/// #         std::task::Poll::Pending => unreachable!("a port that answers from memory never waits"),
/// #     }
/// # }
/// # let document: FeeDocument = toml::from_str(file!("fees.toml"))?;
/// # let policy = Policy::new(document.review()?);
/// # let account = AccountProfile::eoa(address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), 8453);
/// let request = BridgeRequest::new(account, 42161, U256::from(25_000_000))?; // 25 USDC to Arbitrum
/// let moment = Moment { now_millis: 1_790_000_000_000, entropy: [7; 32] };
/// let plan = ready(bridge::build(&request, &Fees, &Node, &NoSimulator, &policy, &moment))?;
///
/// let verified = verify(&Request::Bridge(request), plan.json(), moment.now(), &policy)?;
/// assert_eq!(verified.payload_digest(), plan.payload_digest());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn build<F: BridgeFees + ?Sized, A: Accounts + ?Sized, S: Simulator + ?Sized>(
    request: &BridgeRequest,
    fees: &F,
    accounts: &A,
    simulator: &S,
    policy: &Policy,
    moment: &Moment,
) -> Result<Sealed, Refusal> {
    let asked = request.asked();
    asked.judge()?;
    let readings = read(&asked, fees, accounts, policy.allow_unread_accounts).await?;
    let max_fee = asked.max_fee_from(&readings.fees).map_err(fee_unknown)?;
    let burn = asked.burn(max_fee).map_err(off_route)?;
    let steps = burn.steps().iter().map(StepRecord::from).collect();
    let payload = BridgePayload::assemble(&asked, readings, steps)?;
    Judged::<BridgeRail>::judge(request, payload, policy, moment)?
        .simulate(simulator)
        .await?
        .seal()
}

/// Reads the account and the fees at the same time. When both fail, the account's failure is
/// returned.
async fn read<F: BridgeFees + ?Sized, A: Accounts + ?Sized>(
    asked: &Asked,
    fees: &F,
    accounts: &A,
    allow_unread: bool,
) -> Result<Readings, Refusal> {
    let source = asked.source().map_err(off_route)?.domain;
    let destination = asked.destination().map_err(off_route)?.domain;
    let allowance = async {
        match asked.speed {
            TransferSpeed::Standard => Ok(None),
            TransferSpeed::Fast => fees.fast_allowance().await.map(Some),
        }
    };
    let ((control, chain_min_fee), (fees, fast_allowance)) = join(
        join(
            account::control(accounts, asked, allow_unread),
            min_fee::read(accounts, asked.source_chain_id, asked.amount),
        ),
        join(fees.fees(source, destination, asked.forward), allowance),
    )
    .await;
    let control = control?;
    let fees = fees?;
    // The check of the request has established that the route has fast transfers. So the missing
    // fee is the service's fault.
    if asked.speed == TransferSpeed::Fast && fees.fast_bps.is_none() {
        return Err(Refusal::new(
            Refusal::QUOTE_MALFORMED,
            "the route's fees contain no fee of a fast transfer",
        )
        .comparing("a fee in basis points at finality threshold 1000", "none"));
    }
    Ok(Readings {
        fees: RouteFees {
            fast_bps: fees.fast_bps,
            standard_bps: fees.standard_bps,
            forward_fee: fees.forward_fee,
            chain_min_fee: chain_min_fee?,
        },
        fast_allowance: fast_allowance?,
        control,
        read_at: fees.read_at,
    })
}
