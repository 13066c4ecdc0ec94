// A DMA engine for Intel's PCIe blocks: it writes and reads host memory in turns, as fast as the block takes TLPs. The
// streams have 256 bits. Stratix 10 has the header in front of the data, P-Tile beside them (`header_beside`); both take
// `valid` only three clocks after `ready`. Each written double word holds its number in the window. Addresses and
// lengths are whole double words, and no TLP crosses 4 KiB.
module avalon_dma #(
    parameter int TAGS = 256
) (
    input  wire          clk,
    input  wire          rst,
    input  wire          header_beside,
    // The job: `count` TLPs of each kind that is asked for, of `bytes` each, from `base` on, around a window.
    input  wire          start,
    input  wire          writes,
    input  wire          reads,
    input  wire  [ 63:0] base,
    input  wire  [ 31:0] count,
    input  wire  [ 12:0] bytes,
    input  wire  [ 31:0] window,
    // Bus, device and function, which a request carries.
    input  wire  [ 15:0] requester,
    output logic         done,
    output logic [ 31:0] to_send,
    output logic [ 31:0] sum,
    // Requests.
    output logic [255:0] tx_st_data,
    output logic         tx_st_sop,
    output logic         tx_st_eop,
    output logic         tx_st_valid,
    output logic         tx_st_err,
    output logic [127:0] tx_st_hdr,
    output logic [ 31:0] tx_st_tlp_prfx,
    input  wire          tx_st_ready,
    // Completions.
    input  wire  [255:0] rx_st_data,
    input  wire  [  2:0] rx_st_empty,
    input  wire          rx_st_sop,
    input  wire          rx_st_eop,
    input  wire          rx_st_valid,
    input  wire  [  2:0] rx_st_bar_range,
    input  wire  [127:0] rx_st_hdr,
    input  wire  [ 31:0] rx_st_tlp_prfx,
    input  wire          rx_st_tlp_abort,
    output logic         rx_st_ready
);
  logic [2:0] ready_before;
  always_ff @(posedge clk) ready_before <= {ready_before[1:0], tx_st_ready};
  wire go = ready_before[2];

  // The TLP that is being sent, and the number of its double words that have been.
  logic active, write;
  logic [7:0] tag, next_tag;
  logic [31:0] offset, next_offset, write_offset, read_offset, writes_left, reads_left;
  logic [11:0] at;
  logic [TAGS-1:0] in_use;

  wire [10:0] dwords = bytes[12:2];
  wire [63:0] address = base + 64'(offset);
  wire low = address[63:32] == 0;
  wire [31:0] kind = {1'b0, write, !low, 29'b0};
  wire [127:0] header = {
    low ? 32'b0 : {address[31:2], 2'b00}, low ? {address[31:2], 2'b00} : address[63:32],
    requester, tag, dwords == 1 ? 8'h0f : 8'hff, kind | 32'(dwords[9:0])
  };
  wire [11:0] in_front = header_beside ? 12'd0 : low ? 12'd3 : 12'd4;
  wire [11:0] total = in_front + (write ? 12'(dwords) : 12'd0);
  wire ends = at + 12'd8 >= total;

  always_comb begin
    for (int i = 0; i < 8; i++)
      tx_st_data[32*i+:32] = at + 12'(i) < in_front ? header[32*(at[1:0]+2'(i))+:32] : (offset >> 2) + 32'(at) + 32'(i) - 32'(in_front);
  end
  assign tx_st_valid = active && go;
  assign tx_st_sop = at == 0;
  assign tx_st_eop = ends;
  assign tx_st_err = 0;
  assign tx_st_hdr = {header[31:0], header[63:32], header[95:64], header[127:96]};
  assign tx_st_tlp_prfx = 0;

  // The next TLP: the other kind, if both are asked for. A read waits for its tag.
  wire write_next = writes && (!reads || writes_left >= reads_left);
  wire has_next = write_next ? writes_left != 0 : reads && reads_left != 0 && !in_use[next_tag];
  wire take = has_next && (!active || (go && ends));
  wire [31:0] moved = (write_next ? write_offset : read_offset) + 32'(bytes);
  assign next_offset = moved == window ? 0 : moved;

  wire is_first = rx_st_valid && rx_st_sop;
  wire [95:0] front = header_beside ? {rx_st_hdr[63:32], rx_st_hdr[95:64], rx_st_hdr[127:96]} : rx_st_data[95:0];
  // Counts of 0 stand for the most.
  wire [12:0] left = {front[43:32] == 0, front[43:32]};
  wire [12:0] here = {front[9:0] == 0, front[9:0], 2'b00};
  logic [31:0] beat_sum;
  always_comb begin
    beat_sum = 0;
    for (int i = 0; i < 8; i++)
      if ((header_beside || !rx_st_sop || i >= 3) && (!rx_st_eop || i < 8 - int'(rx_st_empty)))
        beat_sum += rx_st_data[32*i+:32];
  end
  assign rx_st_ready = 1;

  always_ff @(posedge clk) begin
    if (go && active) at <= at + 8;
    if (go && active && ends) active <= 0;
    if (take) begin
      {active, write, at, tag} <= {1'b1, write_next, 12'b0, next_tag};
      offset <= write_next ? write_offset : read_offset;
      if (write_next) begin
        write_offset <= next_offset;
        writes_left <= writes_left - 1;
      end else begin
        read_offset <= next_offset;
        reads_left <= reads_left - 1;
        in_use[next_tag] <= 1;
        next_tag <= next_tag + 1;
      end
    end
    // Data beats of completions: a completion without data adds nothing.
    if (rx_st_valid) sum <= sum + beat_sum;
    if (is_first && left <= here) in_use[front[79:72]] <= 0;
    if (start) {write_offset, read_offset, writes_left, reads_left, sum} <= {64'b0, writes ? count : 32'b0, reads ? count : 32'b0, 32'b0};
    if (rst) {active, in_use, next_tag, writes_left, reads_left} <= '0;
    to_send <= writes_left > reads_left ? writes_left : reads_left;
    done <= !start && !active && writes_left == 0 && reads_left == 0 && in_use == '0;
  end
endmodule
