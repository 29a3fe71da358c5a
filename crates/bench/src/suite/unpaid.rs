//! Unpaid calls against fixed bytes, and malformed payments against unpaid calls.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, StatusCode};

use super::site::{Site, unpaid_answer};
use super::{Effort, cost, middle};
use crate::BenchError;
use crate::load::{Load, Requests};
use crate::measure::Ratio;
use crate::report::{Amount, Finding, Limit, Report};

const TARGET: &str = "/price?token=0xB6CEceAB302E2E4948951eE7843FC24E92933061";

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let server = site.api_server(&site.file("unpaid.db"))?;
    let answer = unpaid_answer(&server, TARGET).await?;
    let baseline = site.fixed(&answer)?;
    let replayed = unpaid_answer(&baseline, TARGET).await?;
    if replayed.body != answer.body || replayed.headers.len() != answer.headers.len() {
        return Err(BenchError::Answer {
            what: "likeness to its baseline",
        });
    }
    let load = |requests| Load {
        target: TARGET.to_owned(),
        requests,
        connections: effort.connections,
        expected: StatusCode::PAYMENT_REQUIRED,
    };
    let malformed: Arc<Vec<HeaderValue>> = Arc::new(
        malformed()?
            .into_iter()
            .cycle()
            .take(effort.unpaid / 2)
            .collect(),
    );

    for server in [&server, &baseline] {
        load(Requests::Unpaid(effort.unpaid / 10))
            .run(server.address())
            .await?;
    }
    let [mut ours, mut base, mut refused] = [const { Vec::new() }; 3];
    for _ in 0..effort.rounds {
        base.push(cost(&baseline, load(Requests::Unpaid(effort.unpaid))).await?);
        ours.push(cost(&server, load(Requests::Unpaid(effort.unpaid))).await?);
        refused.push(cost(&server, load(Requests::Paying(malformed.clone()))).await?);
    }
    let (ours, base, refused) = (middle(&ours), middle(&base), middle(&refused));
    report.add(Finding {
        name: "unpaid call",
        ours: Amount::Cpu(ours),
        limit: Limit::Times(
            Ratio::thousandths(1_200),
            "bare hyper, the same bytes",
            Amount::Cpu(base),
        ),
    });
    report.add(Finding {
        name: "malformed payment",
        ours: Amount::Cpu(refused),
        limit: Limit::Times(
            Ratio::thousandths(1_500),
            "our unpaid call",
            Amount::Cpu(ours),
        ),
    });
    Ok(())
}

/// Payments that cannot be read, about as long as real ones.
fn malformed() -> Result<Vec<HeaderValue>, BenchError> {
    let deep = format!("{{\"x402Version\":2,\"payload\":{}", "[".repeat(700));
    let texts = [
        "!".repeat(1_000),
        STANDARD.encode([0xff; 750]),
        STANDARD.encode(deep),
        STANDARD.encode(format!(
            "{{\"x402Version\":2,\"accepted\":\"{}\"}}",
            "a".repeat(700)
        )),
    ];
    texts
        .into_iter()
        .map(|text| HeaderValue::try_from(text).map_err(|_| BenchError::Answer { what: "payment" }))
        .collect()
}
