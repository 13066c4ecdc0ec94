// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The top of an Alveo U50: board_top.sv, and the pin of the HBM's alarm, which powers the board off while it is high. The design
// does not use the HBM.
module alveo_u50_top #(
    parameter LANES = 16
) (
    input  wire logic pcie_reference_p,
    input  wire logic pcie_reference_n,
    input  wire logic pcie_reset_n,
    input  wire logic [LANES-1:0] pcie_rx_p,
    input  wire logic [LANES-1:0] pcie_rx_n,
    output logic [LANES-1:0] pcie_tx_p,
    output logic [LANES-1:0] pcie_tx_n,
    output logic hbm_cattrip
);
    assign hbm_cattrip = 1'b0;
    board_top #(.LANES(LANES)) board (
        .pcie_reference_p, .pcie_reference_n, .pcie_reset_n, .pcie_rx_p, .pcie_rx_n, .pcie_tx_p, .pcie_tx_n
    );
endmodule

`default_nettype wire
