#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason="temporary")]
#[tokio::main]
async fn main() {
    let chain = dev_chain::DevChain::with_chain_196_assets().unwrap();
    let server = chain.serve("127.0.0.1:18545".parse().unwrap()).await.unwrap();
    println!("{}", server.url());
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
}
