//! Paid calls that a facilitator verifies and settles: the server as it is shipped against a server
//! built on `x402-axum`, with the same facilitator. The baseline makes the same two calls. It
//! verifies no signature itself and remembers no payment.

use std::net::SocketAddr;
use std::sync::Arc;

use http::StatusCode;
use tokio::net::TcpListener;

use super::paid::{TARGET, load};
use super::site::{Site, expect, unpaid_answer};
use super::{Cost, Effort, measured};
use crate::BenchError;
use crate::baseline;
use crate::exchange::Connection;
use crate::load::Load;
use crate::payment::{Offer, Payers, Signed};
use crate::process::Server;
use crate::report::{Finding, Limit, Report};

const BASELINE: &str = "x402-axum, the same facilitator";

/// Payments of each payer before the measurement. A payer who has earned no credit makes one call
/// at a time, because this mode reads no balances.
const EARNING: usize = 20;

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let facilitator = facilitator().await?;
    let server = site.facilitator_mode(facilitator)?;
    let settled = site.paid_server(&site.file("settled.db"), "accepting")?;
    let unpaid = unpaid_answer(&server, TARGET).await?;
    let payers = Payers::new(Offer::of(&unpaid)?)?;
    let own = Payers::new(Offer::of(&unpaid_answer(&settled, TARGET).await?)?)?;
    earn(&server, &payers).await?;
    let mut connection = Connection::open(server.address()).await?;
    let mut paid = Err(BenchError::Answer { what: "payment" });
    for payment in payers.sign(1, Signed::ByPayer)? {
        paid = expect(connection.get(TARGET, Some(&payment)).await?, 200);
    }
    let peer = site.baseline_x402_axum(&paid?, &unpaid, facilitator)?;
    let (mut ours, mut theirs, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    // The first round warms all up.
    for round in 0..=effort.rounds {
        let costs = [
            measured(&peer, paying(effort, &payers)?).await?,
            measured(&server, paying(effort, &payers)?).await?,
            measured(&settled, paying(effort, &own)?).await?,
        ];
        if round > 0 {
            let [of_peer, of_server, of_settled] = costs;
            theirs.push(of_peer);
            ours.push(of_server);
            alone.push(of_settled);
        }
    }
    settled.stop()?;
    server.stop()?;
    let [ours, theirs, alone] = [ours, theirs, alone].map(|costs| Cost::middle(&costs));
    for (name, ours, against, base) in [
        (
            "paid call, facilitator mode",
            ours.cpu(),
            BASELINE,
            theirs.cpu(),
        ),
        (
            "paid calls, facilitator mode",
            ours.pace(),
            BASELINE,
            theirs.pace(),
        ),
        (
            "paid call, facilitator mode",
            ours.cpu(),
            "our own, settler does nothing",
            alone.cpu(),
        ),
    ] {
        let limit = Limit::Beside(against, base);
        report.add(Finding { name, ours, limit });
    }
    Ok(())
}

/// A facilitator in this process, whose processor time is not measured.
async fn facilitator() -> Result<SocketAddr, BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(baseline::serve(listener, baseline::facilitator::answer));
    Ok(address)
}

/// Pays once after the other, so that every payer earns credit.
async fn earn(server: &Server, payers: &Payers) -> Result<(), BenchError> {
    let mut connection = Connection::open(server.address()).await?;
    for payment in payers.sign(payers.count().saturating_mul(EARNING), Signed::ByPayer)? {
        expect(connection.get(TARGET, Some(&payment)).await?, 200)?;
    }
    Ok(())
}

fn paying(effort: Effort, payers: &Payers) -> Result<Load, BenchError> {
    let payments = Arc::new(payers.sign(effort.remote, Signed::ByPayer)?);
    Ok(load(effort, TARGET, payments, StatusCode::OK))
}
