//! The table of known functions.

use super::{
    Role,
    Role::{
        Approve, ApproveAll, AuthorizedTransfer, Borrow, Bridge, Calls, CancelAuthorization, Claim,
        Commands, Liquidity, MultiSend, NftTransfer, Permit, Repay, SafeExecution, SelfCalls,
        Supply, Swap, Sweep, Transfer, TransferFrom, Unwrap, UserOperations, Withdraw, Wrap,
    },
    Row,
};

const fn row(standard: &'static str, role: Role, declaration: &'static str) -> Row {
    Row {
        standard,
        role,
        declaration,
    }
}

/// Every known function. A signature has only one row: `transferFrom` has the same signature in
/// ERC-20 and in ERC-721, and the logs show which one it was.
pub(super) static ROWS: &[Row] = &[
    row("erc20", Transfer, "transfer(address to, uint256 amount)"),
    row(
        "erc20",
        TransferFrom,
        "transferFrom(address from, address to, uint256 amount)",
    ),
    row("erc20", Approve, "approve(address spender, uint256 amount)"),
    row(
        "erc20",
        Approve,
        "increaseAllowance(address spender, uint256 addedValue)",
    ),
    row(
        "erc20",
        Approve,
        "decreaseAllowance(address spender, uint256 subtractedValue)",
    ),
    row(
        "erc2612",
        Permit,
        "permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)",
    ),
    row(
        "erc20",
        Permit,
        "permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)",
    ),
    row(
        "eip3009",
        AuthorizedTransfer,
        "transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
    ),
    row(
        "eip3009",
        AuthorizedTransfer,
        "transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
    ),
    row(
        "eip3009",
        AuthorizedTransfer,
        "receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
    ),
    row(
        "eip3009",
        AuthorizedTransfer,
        "receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
    ),
    row(
        "eip3009",
        CancelAuthorization,
        "cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
    ),
    row(
        "eip3009",
        CancelAuthorization,
        "cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)",
    ),
    row(
        "erc721",
        NftTransfer,
        "safeTransferFrom(address from, address to, uint256 tokenId)",
    ),
    row(
        "erc721",
        NftTransfer,
        "safeTransferFrom(address from, address to, uint256 tokenId, bytes data)",
    ),
    row(
        "erc721",
        ApproveAll,
        "setApprovalForAll(address operator, bool approved)",
    ),
    row(
        "erc1155",
        NftTransfer,
        "safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)",
    ),
    row(
        "erc1155",
        NftTransfer,
        "safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data)",
    ),
    row("weth", Wrap, "deposit()"),
    row("weth", Unwrap, "withdraw(uint256 amount)"),
    row(
        "uniswap_v2",
        Swap,
        "swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Swap,
        "swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Swap,
        "swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Swap,
        "swapTokensForExactETH(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Swap,
        "swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Swap,
        "swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Swap,
        "swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Swap,
        "swapExactETHForTokensSupportingFeeOnTransferTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Swap,
        "swapExactTokensForETHSupportingFeeOnTransferTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Liquidity,
        "addLiquidity(address tokenA, address tokenB, uint256 amountADesired, uint256 amountBDesired, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Liquidity,
        "addLiquidityETH(address token, uint256 amountTokenDesired, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Liquidity,
        "removeLiquidity(address tokenA, address tokenB, uint256 liquidity, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v2",
        Liquidity,
        "removeLiquidityETH(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "exactInput((bytes path, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum) params)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96) params)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "exactOutput((bytes path, address recipient, uint256 deadline, uint256 amountOut, uint256 amountInMaximum) params)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "exactInput((bytes path, address recipient, uint256 amountIn, uint256 amountOutMinimum) params)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96) params)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "exactOutput((bytes path, address recipient, uint256 amountOut, uint256 amountInMaximum) params)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to)",
    ),
    row(
        "uniswap_v3",
        Swap,
        "swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to)",
    ),
    row("uniswap_v3", SelfCalls, "multicall(bytes[] data)"),
    row(
        "uniswap_v3",
        SelfCalls,
        "multicall(uint256 deadline, bytes[] data)",
    ),
    row(
        "uniswap_v3",
        SelfCalls,
        "multicall(bytes32 previousBlockhash, bytes[] data)",
    ),
    row(
        "uniswap_v3",
        Sweep,
        "unwrapWETH9(uint256 amountMinimum, address recipient)",
    ),
    row("uniswap_v3", Sweep, "unwrapWETH9(uint256 amountMinimum)"),
    row("uniswap_v3", Sweep, "refundETH()"),
    row(
        "uniswap_v3",
        Sweep,
        "sweepToken(address token, uint256 amountMinimum, address recipient)",
    ),
    row(
        "uniswap_v3",
        Permit,
        "selfPermit(address token, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)",
    ),
    row(
        "uniswap_universal_router",
        Commands,
        "execute(bytes commands, bytes[] inputs, uint256 deadline)",
    ),
    row(
        "uniswap_universal_router",
        Commands,
        "execute(bytes commands, bytes[] inputs)",
    ),
    row(
        "permit2",
        Permit,
        "permit(address owner, ((address token, uint160 amount, uint48 expiration, uint48 nonce) details, address spender, uint256 sigDeadline) permitSingle, bytes signature)",
    ),
    row(
        "permit2",
        Permit,
        "permit(address owner, ((address token, uint160 amount, uint48 expiration, uint48 nonce)[] details, address spender, uint256 sigDeadline) permitBatch, bytes signature)",
    ),
    row(
        "permit2",
        Approve,
        "approve(address token, address spender, uint160 amount, uint48 expiration)",
    ),
    row(
        "permit2",
        TransferFrom,
        "transferFrom(address from, address to, uint160 amount, address token)",
    ),
    row(
        "permit2",
        TransferFrom,
        "transferFrom((address from, address to, uint160 amount, address token)[] transferDetails)",
    ),
    row(
        "permit2",
        AuthorizedTransfer,
        "permitTransferFrom(((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline) permit, (address to, uint256 requestedAmount) transferDetails, address owner, bytes signature)",
    ),
    row(
        "permit2",
        AuthorizedTransfer,
        "permitWitnessTransferFrom(((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline) permit, (address to, uint256 requestedAmount) transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature)",
    ),
    row(
        "permit2",
        Approve,
        "lockdown((address token, address spender)[] approvals)",
    ),
    row(
        "safe",
        SafeExecution,
        "execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)",
    ),
    row("safe", MultiSend, "multiSend(bytes transactions)"),
    row(
        "erc4337",
        UserOperations,
        "handleOps((address sender, uint256 nonce, bytes initCode, bytes callData, uint256 callGasLimit, uint256 verificationGasLimit, uint256 preVerificationGas, uint256 maxFeePerGas, uint256 maxPriorityFeePerGas, bytes paymasterAndData, bytes signature)[] ops, address beneficiary)",
    ),
    row(
        "erc4337",
        UserOperations,
        "handleOps((address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits, uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)[] ops, address beneficiary)",
    ),
    row(
        "account",
        Calls,
        "execute(address dest, uint256 value, bytes func)",
    ),
    row(
        "account",
        Calls,
        "executeBatch(address[] dest, bytes[] func)",
    ),
    row(
        "account",
        Calls,
        "executeBatch(address[] dest, uint256[] value, bytes[] func)",
    ),
    row(
        "account",
        Calls,
        "executeBatch((address target, uint256 value, bytes data)[] calls)",
    ),
    row(
        "erc7579",
        Calls,
        "execute(bytes32 mode, bytes executionCalldata)",
    ),
    row(
        "multicall3",
        Calls,
        "aggregate((address target, bytes callData)[] calls)",
    ),
    row(
        "multicall3",
        Calls,
        "tryAggregate(bool requireSuccess, (address target, bytes callData)[] calls)",
    ),
    row(
        "multicall3",
        Calls,
        "aggregate3((address target, bool allowFailure, bytes callData)[] calls)",
    ),
    row(
        "multicall3",
        Calls,
        "aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] calls)",
    ),
    row(
        "erc4626",
        Supply,
        "deposit(uint256 assets, address receiver)",
    ),
    row("erc4626", Supply, "mint(uint256 shares, address receiver)"),
    row(
        "erc4626",
        Withdraw,
        "withdraw(uint256 assets, address receiver, address owner)",
    ),
    row(
        "erc4626",
        Withdraw,
        "redeem(uint256 shares, address receiver, address owner)",
    ),
    row(
        "aave_v3",
        Supply,
        "supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)",
    ),
    row(
        "aave_v3",
        Withdraw,
        "withdraw(address asset, uint256 amount, address to)",
    ),
    row(
        "aave_v3",
        Borrow,
        "borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)",
    ),
    row(
        "aave_v3",
        Repay,
        "repay(address asset, uint256 amount, uint256 interestRateMode, address onBehalfOf)",
    ),
    row(
        "aave_v3",
        Claim,
        "claimAllRewards(address[] assets, address to)",
    ),
    row(
        "cctp",
        Bridge,
        "depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken)",
    ),
    row(
        "cctp",
        Bridge,
        "depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold)",
    ),
    row(
        "cctp",
        Bridge,
        "depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)",
    ),
];
