//! The embedded chain as a process of its own, so that its processor time is nobody else's: `dev-node`.
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::error::Error;

use dev_chain::DevChain;

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::print_stderr,
    reason = "the benchmark reads from there where the node listens"
)]
async fn main() -> Result<(), Box<dyn Error>> {
    let chain = DevChain::with_chain_196_assets()?;
    let server = chain.serve(([127, 0, 0, 1], 0).into()).await?;
    eprintln!("listening on {}", server.url());
    std::future::pending().await
}
