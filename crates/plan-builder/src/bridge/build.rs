//! Builds a bridge plan from what is asked and what is read now.

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
/// The first check that does not hold, by name; `quote_unavailable`, `quote_malformed` or
/// `rate_limited` when the fees cannot be read; `simulation_as_planned`.
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

/// Reads the account and the fees at once. A fault of the account is refused first.
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
    // Whether the chain has fast transfers was judged above: here the service left out what it has
    // to say.
    if asked.speed == TransferSpeed::Fast && fees.fast_bps.is_none() {
        return Err(Refusal::new(
            Refusal::QUOTE_MALFORMED,
            "the fees of the route have none of a fast transfer",
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
