//! Sells for recovered, durably used authorizations: `baseline-paid PAID UNPAID LOG`.
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::path::PathBuf;

use bench::BenchError;
use bench::baseline::log::NonceLog;
use bench::baseline::paid::{self, Seller};
use bench::baseline::recorded;
use clap::Parser;

/// Recovery and one durable record over hyper.
#[derive(Debug, Parser)]
struct Arguments {
    /// The recorded answer to a payment.
    paid: PathBuf,
    /// The recorded answer to an unpaid call, with the offer.
    unpaid: PathBuf,
    /// The log of used nonces.
    log: PathBuf,
}

#[tokio::main]
async fn main() -> Result<(), BenchError> {
    let Arguments { paid, unpaid, log } = Arguments::parse();
    let (paid, unpaid) = (recorded(&paid)?, recorded(&unpaid)?);
    let offer = bench::payment::Offer::of(&unpaid)?;
    paid::serve(Seller::new(offer, NonceLog::create(&log)?, paid, unpaid)).await
}
