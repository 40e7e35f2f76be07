/// A picture in SVG: texts, boxes, lines and curves.
#pragma once

#include <span>
#include <string>

namespace hector {

class Drawing {
public:
  static constexpr const char *kBlue = "#2563eb";
  static constexpr const char *kOrange = "#d97706";
  static constexpr const char *kGreen = "#059669";
  static constexpr const char *kPurple = "#9333ea";
  static constexpr const char *kRed = "#b91c1c";
  static constexpr const char *kText = "#111827";
  static constexpr const char *kSoft = "#4b5563";
  static constexpr const char *kGrid = "#e5e7eb";

  struct Style {
    double size = 12;
    const char *fill = kText;
    const char *anchor = "start";
    bool bold = false;
  };
  void text(double x, double y, const std::string &content, Style style);
  void box(double x, double y, double width, double height, const char *fill, double radius = 0);
  void line(double x1, double y1, double x2, double y2, const char *colour);
  void dot(double x, double y, double radius, const char *fill);
  struct Point {
    double x, y;
  };
  /// Lines from each point to the next.
  void path(std::span<const Point> points, const char *colour, double width = 1.5);
  /// The whole file.
  std::string finish(double width, double height, const std::string &title) const;

private:
  std::string body;
};

}  // namespace hector
