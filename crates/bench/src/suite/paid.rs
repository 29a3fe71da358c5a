//! Paid calls, genuine and forged, against a baseline that recovers the signature and makes one
//! durable record.

use std::sync::Arc;

use http::StatusCode;

use super::site::{Site, expect, unpaid_answer};
use super::{Effort, cost, middle};
use crate::BenchError;
use crate::exchange::Connection;
use crate::load::{Load, Requests};
use crate::measure::Ratio;
use crate::payment::{Offer, Payers, Signed};
use crate::process::Server;
use crate::report::{Amount, Finding, Limit, Report};

/// A call whose work is reading a list from memory, so that the payment is measured.
pub(super) const TARGET: &str = "/all-tokens";

/// Rounds for each round of other figures: this figure is close to its limit, and rounds differ by
/// some per cent.
const PRECISION: usize = 3;

pub(super) const BASELINE: &str = "bare hyper, recovery, one durable record";

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    genuine(site, effort, report).await?;
    forged(site, effort, report).await
}

async fn genuine(site: &Site, effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let server = site.paid_server(&site.file("paid.db"), "accepting")?;
    let payers = Payers::new(Offer::of(&unpaid_answer(&server, TARGET).await?)?)?;
    let baseline = baseline(site, &server, &payers).await?;
    let (mut ours, mut base) = (Vec::new(), Vec::new());
    for round in 0..=effort.rounds.saturating_mul(PRECISION) {
        let payments = Arc::new(payers.sign(effort.paid, Signed::ByPayer)?);
        let load = |payments| load(effort, TARGET, payments, StatusCode::OK);
        let theirs = cost(&baseline, load(payments.clone())).await?;
        let own = cost(&server, load(payments)).await?;
        // The first round warms both up.
        if round > 0 {
            base.push(theirs);
            ours.push(own);
        }
    }
    server.stop()?;
    report.add(Finding {
        name: "paid call",
        ours: Amount::Cpu(middle(&ours)),
        limit: Limit::Times(
            Ratio::thousandths(1_800),
            BASELINE,
            Amount::Cpu(middle(&base)),
        ),
    });
    Ok(())
}

/// Measures forged payments. The settler of this server answers that it is unreachable, so that a
/// call that reached it would be answered 503 and end the measurement.
async fn forged(site: &Site, effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let server = site.paid_server(&site.file("forged.db"), "unreachable")?;
    let unpaid = unpaid_answer(&server, TARGET).await?;
    let payers = Payers::new(Offer::of(&unpaid)?)?;
    let mut connection = Connection::open(server.address()).await?;
    for payment in payers.sign(1, Signed::ByPayer)? {
        expect(connection.get(TARGET, Some(&payment)).await?, 503)?;
    }
    let baseline = site.baseline_paid(&unpaid, &unpaid)?;
    let payments = Arc::new(payers.sign(effort.paid, Signed::BySomebodyElse)?);
    let load = || {
        load(
            effort,
            TARGET,
            payments.clone(),
            StatusCode::PAYMENT_REQUIRED,
        )
    };
    let (mut ours, mut base) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        base.push(cost(&baseline, load()).await?);
        ours.push(cost(&server, load()).await?);
    }
    report.add(Finding {
        name: "forged payment, settler not asked",
        ours: Amount::Cpu(middle(&ours)),
        limit: Limit::Times(
            Ratio::thousandths(1_500),
            "bare hyper, recovery",
            Amount::Cpu(middle(&base)),
        ),
    });
    Ok(())
}

pub(super) async fn baseline(
    site: &Site,
    server: &Server,
    payers: &Payers,
) -> Result<Server, BenchError> {
    let mut connection = Connection::open(server.address()).await?;
    let unpaid = expect(connection.get(TARGET, None).await?, 402)?;
    let payments = payers.sign(2, Signed::ByPayer)?;
    let mut paid = Err(BenchError::Answer { what: "payment" });
    // The baseline replays the second answer, because the first one may report a list that had to
    // be fetched.
    for payment in &payments {
        paid = expect(connection.get(TARGET, Some(payment)).await?, 200);
    }
    site.baseline_paid(&paid?, &unpaid)
}

pub(super) fn load(
    effort: Effort,
    target: &str,
    payments: Arc<Vec<http::HeaderValue>>,
    expected: StatusCode,
) -> Load {
    Load {
        target: target.to_owned(),
        requests: Requests::Paying(payments),
        connections: effort.connections,
        expected,
    }
}
