// A DMA engine that reads host memory: as many reads in flight as it has tags, over the streams of a Xilinx UltraScale+
// PCIe block (RQ and RC, 512 bits, no straddling; PG213). It adds up the double words that it gets, as a stand-in for
// a consumer that is never slow. Addresses and lengths are whole double words, and no read crosses 4 KiB.
module read_dma #(
    parameter int TAGS = 256
) (
    input  wire          clk,
    input  wire          rst,
    // The job: `count` reads of `bytes` each, one after the other from `base` on, around a window.
    input  wire          start,
    input  wire  [ 63:0] base,
    input  wire  [ 31:0] count,
    input  wire  [ 12:0] bytes,
    input  wire  [ 31:0] window,
    input  wire  [  8:0] tags,
    output logic         done,
    output logic [ 31:0] sum,
    // Requests.
    output logic [511:0] s_axis_rq_tdata,
    output logic [ 15:0] s_axis_rq_tkeep,
    output logic         s_axis_rq_tlast,
    output logic [136:0] s_axis_rq_tuser,
    output logic         s_axis_rq_tvalid,
    input  wire          s_axis_rq_tready,
    // Completions.
    input  wire  [511:0] m_axis_rc_tdata,
    input  wire  [ 15:0] m_axis_rc_tkeep,
    input  wire          m_axis_rc_tlast,
    input  wire  [160:0] m_axis_rc_tuser,
    input  wire          m_axis_rc_tvalid,
    output logic         m_axis_rc_tready
);
  logic [TAGS-1:0] busy;
  logic [31:0] offset, to_send, to_come;
  logic running;

  // The lowest free tag of those in use.
  logic [8:0] tag;
  always_comb begin
    tag = tags;
    for (int i = TAGS - 1; i >= 0; i--) if (!busy[i] && 9'(i) < tags) tag = 9'(i);
  end

  wire can_send = running && to_send != 0 && tag != tags && (!s_axis_rq_tvalid || s_axis_rq_tready);
  wire [63:0] address = base + 64'(offset);

  // The descriptor of a memory read: address, double words, tag. Every byte is enabled.
  always_ff @(posedge clk) begin
    if (s_axis_rq_tready) s_axis_rq_tvalid <= 0;
    if (can_send) begin
      s_axis_rq_tvalid <= 1;
      s_axis_rq_tdata  <= 512'({24'b0, 8'(tag), 16'b0, 1'b0, 4'b0000, bytes[12:2], address[63:2], 2'b00});
    end
    if (rst) s_axis_rq_tvalid <= 0;
  end
  assign s_axis_rq_tkeep = 16'h000f;
  assign s_axis_rq_tlast = 1;
  // The packet starts in double word 0 and ends in double word 3; byte enables of its first and last double words.
  assign s_axis_rq_tuser = {105'b0, 4'd3, 2'b01, 4'b0, 2'b01, 4'b0, 4'h0, bytes == 4 ? 4'h0 : 4'hf, 4'h0, 4'hf};

  // The descriptor of a completion is in the first three double words of its first beat.
  logic in_packet, completes;
  logic [7:0] completed;
  wire first = m_axis_rc_tvalid && !in_packet;
  wire ends = m_axis_rc_tvalid && m_axis_rc_tlast;
  wire last_of_read = first ? m_axis_rc_tdata[30] : completes;
  wire [7:0] tag_of_read = first ? m_axis_rc_tdata[71:64] : completed;
  assign m_axis_rc_tready = 1;

  logic [31:0] beat_sum;
  always_comb begin
    beat_sum = 0;
    for (int i = 0; i < 16; i++)
    if (m_axis_rc_tvalid && m_axis_rc_tkeep[i] && !(first && i < 3)) beat_sum += m_axis_rc_tdata[32*i+:32];
  end

  always_ff @(posedge clk) begin
    if (m_axis_rc_tvalid) begin
      in_packet <= !m_axis_rc_tlast;
      if (first) begin
        completes <= m_axis_rc_tdata[30];
        completed <= m_axis_rc_tdata[71:64];
      end
    end
    if (can_send) begin
      busy[tag[7:0]] <= 1;
      to_send <= to_send - 1;
      offset <= offset + 32'(bytes) == window ? 0 : offset + 32'(bytes);
    end
    if (ends && last_of_read) begin
      busy[tag_of_read] <= 0;
      to_come <= to_come - 1;
    end
    sum <= sum + beat_sum;
    if (running && to_come == 0) begin
      running <= 0;
      done <= 1;
    end
    if (start) begin
      running <= 1;
      done <= 0;
      offset <= 0;
      sum <= 0;
      to_send <= count;
      to_come <= count;
    end
    if (rst) begin
      running <= 0;
      done <= 0;
      busy <= 0;
      in_packet <= 0;
    end
  end
endmodule
