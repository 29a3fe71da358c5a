//! The current time of the chain.

use super::{ChainReader, RpcFault};
use crate::Cause;

impl ChainReader {
    /// Returns the time of the newest block, in Unix seconds.
    ///
    /// # Errors
    /// When the chain cannot be read.
    pub async fn head_time(&self) -> Result<u64, Cause> {
        let head = self.rpc().head().await.map_err(RpcFault::cause)?;
        Ok(head.timestamp())
    }
}
