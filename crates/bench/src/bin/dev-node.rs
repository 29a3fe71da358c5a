//! The embedded chain as a separate process, so that its processor time is measured separately:
//! `dev-node MILLISECONDS`, the time between two blocks.
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::error::Error;
use std::time::Duration;

use dev_chain::{DevChain, Mining};

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::print_stderr,
    reason = "the benchmark reads from there where the node listens"
)]
async fn main() -> Result<(), Box<dyn Error>> {
    let millis: u64 = std::env::args().nth(1).ok_or("MILLISECONDS")?.parse()?;
    let chain = DevChain::builder()
        .chain_196_assets()
        .mining(Mining::Manual)
        .build()?;
    let server = chain.serve(([127, 0, 0, 1], 0).into()).await?;
    eprintln!("listening on {}", server.url());
    let mut blocks = tokio::time::interval(Duration::from_millis(millis.max(1)));
    loop {
        blocks.tick().await;
        chain.mine();
    }
}
