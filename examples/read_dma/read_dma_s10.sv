// The engine of read_dma behind Intel's Stratix 10 PCIe block: Avalon streams of 256 bits that carry TLPs as they are on
// the link. A request takes one beat; its header has 3 double words below 4 GiB and 4 above. Completions have 3.
module read_dma_s10 #(
    parameter int TAGS = 256
) (
    input  wire          clk,
    input  wire          rst,
    input  wire          start,
    input  wire  [ 63:0] base,
    input  wire  [ 31:0] count,
    input  wire  [ 12:0] bytes,
    input  wire  [ 31:0] window,
    input  wire  [  8:0] tags,
    // Bus, device and function, which a request carries.
    input  wire  [ 15:0] requester,
    output logic         done,
    output logic [ 31:0] sum,
    // Requests: `valid` only three clocks after `ready`.
    output logic [255:0] tx_st_data,
    output logic         tx_st_sop,
    output logic         tx_st_eop,
    output logic         tx_st_valid,
    output logic         tx_st_err,
    input  wire          tx_st_ready,
    // Completions.
    input  wire  [255:0] rx_st_data,
    input  wire  [  2:0] rx_st_empty,
    input  wire          rx_st_sop,
    input  wire          rx_st_eop,
    input  wire          rx_st_valid,
    input  wire  [  2:0] rx_st_bar_range,
    output logic         rx_st_ready
);
  logic [511:0] rq, rc;
  logic [15:0] rc_keep;
  logic rq_valid;

  logic [2:0] ready_before;
  always_ff @(posedge clk) ready_before <= {ready_before[1:0], tx_st_ready};
  wire ready = ready_before[2];

  wire is_low = rq[63:32] == 0;
  wire [9:0] dwords = rq[73:64];
  assign tx_st_data = is_low
      ? 256'({rq[31:2], 2'b00, requester, rq[103:96], dwords == 1 ? 8'h0f : 8'hff, 22'h000000, dwords})
      : 256'({rq[31:2], 2'b00, rq[63:32], requester, rq[103:96], dwords == 1 ? 8'h0f : 8'hff, 22'h080000, dwords});
  assign tx_st_valid = rq_valid && ready;
  assign tx_st_sop = 1;
  assign tx_st_eop = 1;
  assign tx_st_err = 0;

  // The first three double words become the two fields of the other block's descriptor that the engine reads: the tag,
  // and whether this completion is the last of its request. Counts of 0 stand for the most.
  wire [12:0] left = {rx_st_data[43:32] == 0, rx_st_data[43:32]};
  wire [12:0] here = {rx_st_data[9:0] == 0, rx_st_data[9:0], 2'b00};
  always_comb begin
    rc = 512'(rx_st_data);
    if (rx_st_sop) rc[95:0] = {24'b0, rx_st_data[79:72], 33'b0, left <= here, 30'b0};
  end
  assign rc_keep = 16'h00ff >> (rx_st_eop ? rx_st_empty : 3'd0);
  assign rx_st_ready = 1;

  read_dma #(.TAGS(TAGS)) engine (
      .clk, .rst, .start, .base, .count, .bytes, .window, .tags, .done, .sum,
      .s_axis_rq_tdata(rq), .s_axis_rq_tkeep(), .s_axis_rq_tlast(), .s_axis_rq_tuser(), .s_axis_rq_tvalid(rq_valid),
      .s_axis_rq_tready(ready), .m_axis_rc_tdata(rc), .m_axis_rc_tkeep(rc_keep), .m_axis_rc_tlast(rx_st_eop),
      .m_axis_rc_tuser('0), .m_axis_rc_tvalid(rx_st_valid), .m_axis_rc_tready()
  );
endmodule
