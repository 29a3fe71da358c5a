//! Argument layouts of the reviewed functions. A wrong layout cannot compile into a right selector:
//! the test below compares each with the reviewed list.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "generated from the interface"
)]

alloy_sol_types::sol! {
    struct BaseRequest {
        uint256 fromToken;
        address toToken;
        uint256 fromTokenAmount;
        uint256 minReturnAmount;
        uint256 deadLine;
    }

    struct RouterPath {
        address[] mixAdapters;
        address[] assetTo;
        uint256[] rawData;
        bytes[] extraData;
        uint256 fromToken;
    }

    struct PmmRequest {
        uint256 pathIndex;
        address payer;
        address fromToken;
        address toToken;
        uint256 fromTokenAmountMax;
        uint256 toTokenAmountMax;
        uint256 salt;
        uint256 deadLine;
        bool isPushOrder;
        bytes extension;
    }

    function dagSwapByOrderId(uint256 orderId, BaseRequest baseRequest, RouterPath[] paths);
    function dagSwapTo(uint256 orderId, address receiver, BaseRequest baseRequest, RouterPath[] paths);
    function smartSwapByOrderId(
        uint256 orderId,
        BaseRequest baseRequest,
        uint256[] batchesAmount,
        RouterPath[][] batches,
        PmmRequest[] extraData
    );
    function smartSwapTo(
        uint256 orderId,
        address receiver,
        BaseRequest baseRequest,
        uint256[] batchesAmount,
        RouterPath[][] batches,
        PmmRequest[] extraData
    );
    function unxswapByOrderId(uint256 srcToken, uint256 amount, uint256 minReturn, bytes32[] pools);
    function unxswapTo(uint256 srcToken, uint256 amount, uint256 minReturn, address receiver, bytes32[] pools);
    function uniswapV3SwapTo(uint256 receiver, uint256 amount, uint256 minReturn, uint256[] pools);
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::SolCall;

    use super::*;

    #[test]
    fn selectors_are_those_of_the_reviewed_list() {
        let ours = [
            dagSwapByOrderIdCall::SELECTOR,
            dagSwapToCall::SELECTOR,
            smartSwapByOrderIdCall::SELECTOR,
            smartSwapToCall::SELECTOR,
            unxswapByOrderIdCall::SELECTOR,
            unxswapToCall::SELECTOR,
            uniswapV3SwapToCall::SELECTOR,
        ];
        let reviewed = crate::okx::ReviewedContracts::default().selectors;
        assert_eq!(reviewed.iter().map(|s| s.0).collect::<Vec<_>>(), ours);
    }
}
